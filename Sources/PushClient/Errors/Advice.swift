internal import Foundation
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

extension PushClient {
    /// Advice to a user about a call that failed. ``text`` has one line for each case.
    ///
    /// ```swift
    /// do {
    ///     show(try await client.sync())
    /// } catch {
    ///     guard let advice = PushClient.Advice(for: error) else { return }  // cancelled
    ///     banner.text = NSLocalizedString("advice.\(advice.rawValue)", value: advice.text, comment: "")
    /// }
    /// ```
    public enum Advice: String, Sendable, Hashable, CaseIterable {
        /// The server is unreachable, or did not answer in time.
        case offline
        /// A network's sign-in page answers in place of the server.
        case captivePortal
        /// A proxy of the network demands credentials.
        case proxy
        /// Something between client and server has changed, replayed or invented an answer.
        case interference
        /// No key that the app knows has signed the answer: the server's key has changed, or
        /// something pretends to be the server.
        case update
        /// The clocks of device and server differ by more than the client accepts, or a
        /// certificate has expired by the device's clock.
        case clock
        /// The system or the app does not accept the server's certificate.
        case pin
        /// The credentials are no longer valid.
        case signIn
        /// The server refuses requests for now, or a load balancer cannot reach the server.
        case wait
        /// The server refuses this request.
        case refused
        /// The device cannot store anything.
        case storage
        /// Somebody has changed this device's end-to-end keys at the server.
        case keyReplaced
        /// This device lacks something that the app needs.
        case unavailable
        /// The app has a fault: it calls the client in a wrong order, or with a wrong address.
        case app

        /// The advice for an error; `nil` for a call that was cancelled.
        public init?(for error: any Error) {
            switch NetworkFailure.clientError(error) {
            case is CancellationError: return nil
            case let error as PushClientError: self.init(error)
            default: self = .unavailable
            }
        }

        /// The advice in English; an app may use its own words and languages.
        public var text: String {
            switch self {
            case .offline: "There is no connection. What you see may be out of date."
            case .captivePortal: "This network wants you to sign in first. Open its page, then try again."
            case .proxy: "This network has a proxy that wants a password. Sign in to it, then try again."
            case .interference: "Something on this network changes our answers. Try another network."
            case .update: "This app needs an update, or this network changes our answers. Try another network first."
            case .clock: "The clock of this device is wrong, or our certificate has expired. Check the clock."
            case .pin: "This network stands between you and our server. Sign in to it, or try another network."
            case .signIn: "You are not signed in. Try to sign in again."
            case .wait: "The server is busy. Try again later."
            case .refused: "The server does not allow this."
            case .storage: "This device cannot store messages. Make some room, then try again."
            case .keyReplaced: "Somebody has changed the keys of this device at our server. Tell our support."
            case .unavailable: "This app cannot do this here. It needs an update."
            case .app: "This app has a fault. Tell our support."
            }
        }

        private init(_ error: PushClientError) {
            switch error {
            case .offline(let code): self.init(code)
            case .interference(let interference): self.init(interference)
            case .unauthorized, .signedOut: self = .signIn
            case .busy: self = .wait
            case .problem: self = .refused
            // The outbox is full because the device was offline for long.
            case .outboxFull: self = .offline
            case .storage: self = .storage
            case .keyReplaced: self = .keyReplaced
            case .pinningUnavailable: self = .unavailable
            case .notRegistered, .invalidServer, .invalidValue, .insecureServer, .noSignatureKeys: self = .app
            }
        }

        init(_ interference: Interference) {
            switch interference.kind {
            case .redirect: self = .captivePortal
            case .missingEcho: self.init(statusWithoutEcho: interference.status)
            case .signature, .wrongAccount: self = .update
            case .wrongClock: self = .clock
            case .untrustedKey: self = .pin
            case .wrongEcho, .insufficientCoverage, .truncated, .oversized, .notJSON, .unexpectedBody, .wrongID,
                .unexpectedNotModified:
                self = .interference
            }
        }

        /// The advice for an answer without the echo of `MyToken`, by its status. During an outage
        /// of the server its load balancers answer; a captive portal sends a page, a redirect or a
        /// demand to sign in.
        private init(statusWithoutEcho status: Int) {
            switch status {
            case 407: self = .proxy
            case 200..<400, 401, 403, 511: self = .captivePortal
            case 408, 421, 429, 500...: self = .wait
            default: self = .interference
            }
        }

        init(_ code: URLError.Code) {
            switch code {
            case .serverCertificateHasBadDate, .serverCertificateNotYetValid: self = .clock
            case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot: self = .pin
            case .clientCertificateRequired, .clientCertificateRejected: self = .refused
            // The app's own settings refuse the server's address.
            case .appTransportSecurityRequiresSecureConnection: self = .unavailable
            default: self = .offline
            }
        }
    }
}
