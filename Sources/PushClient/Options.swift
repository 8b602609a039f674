public import Foundation
package import HTTPSignatures

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

extension PushClient {
    /// Settings with a default.
    public struct Options: Sendable {
        /// Whether the server must sign its answers, and the keys that it must use.
        public var signatures: Signatures
        /// The largest clock skew between server and device for signed answers without the
        /// request's nonce, as from servers of an earlier version.
        public var signatureTolerance: Duration
        /// The certificates that the client trusts.
        public var serverTrust: ServerTrust
        /// The time limit of one request, from its beginning to the last byte of its answer.
        public var timeout: Duration
        /// The time limit of one call, with all of its requests and retries: registering, for
        /// example, may need four requests.
        public var deadline: Duration = .seconds(60)
        /// Whether several accounts are signed in on this device at the same time. Registrations
        /// of other accounts with the same handle then stay, and each push carries a hint that
        /// identifies its account, for ``PushClient/recipient(of:among:)``.
        public var isDeviceShared = false
        /// The client certificate. Some companies' servers and proxies ask for one.
        /// `URLCredential(identity:certificates:persistence:)` makes the credential from an
        /// identity of the keychain. With `nil`, the client presents no certificate.
        public var clientCertificate: URLCredential?
        /// The largest body of an answer, in bytes; longer ones fail. The default admits every
        /// list. Answers other than lists may have at most 1 MiB and 64 KiB in any case.
        ///
        /// In an extension, which fetches one notification and has little memory, 256 KiB are
        /// enough, unless the server's operator allows payloads larger than 64 KiB. Of an answer
        /// that is not the server's own, the client reads only the head.
        public var answerLimit: Int
        /// The app of this client, if the server sends for several. `nil` means the account's only
        /// app, or `default`; with ``deviceKeyID`` it means `default`, since end-to-end payloads
        /// are bound to their app.
        public var app: String?
        /// The id of this device's key, if it opens end-to-end payloads: each request then asks
        /// for its wrapped key.
        public var deviceKeyID: String?
        /// The session's configuration. The client switches off its caches and cookies, and sends
        /// the server no credentials that the system has stored. A background configuration is a
        /// programmer's mistake: its tasks cannot answer a call.
        public var configuration: URLSessionConfiguration
        /// Called after each request, for logs and counters, on the task of the call: it must not
        /// block.
        public var observe: (@Sendable (ClientEvent) -> Void)?
        /// Sends a request in place of URLSession, for example with an HTTP client that requires
        /// certificate transparency. `maximumBody` is the largest wanted body; of a longer one,
        /// return one byte more.
        ///
        /// Return the answer as it is: follow no redirect, and use no cache and no stored
        /// credentials. Throw `URLError` if there is no answer. The client still adds the
        /// credentials, checks the answer and limits the time. ``clientCertificate`` and
        /// ``configuration`` do not apply, and with pinned certificates the client sends nothing.
        /// Event streams always use URLSession.
        public var exchange:
            (@Sendable (_ request: URLRequest, _ maximumBody: Int) async throws -> (Data, HTTPURLResponse))?
        /// The delay before an event stream is opened again, until the server names one. Tests
        /// choose it.
        package var streamRetry = Duration.seconds(2)
        /// Whether keys may be pinned with `http` on this machine. Tests choose it.
        package var trustsLoopback = false
        /// The current time. Tests choose it.
        package var now: @Sendable () -> Date = { Date() }

        /// The defaults, except for the arguments given.
        public init(
            signatures: Signatures,
            signatureTolerance: Duration = .seconds(300),
            serverTrust: ServerTrust = .system,
            timeout: Duration = .seconds(30),
            answerLimit: Int = 64 << 20,
            app: String? = nil,
            configuration: URLSessionConfiguration = .ephemeral
        ) {
            self.signatures = signatures
            self.signatureTolerance = signatureTolerance
            self.serverTrust = serverTrust
            self.timeout = timeout
            self.answerLimit = answerLimit
            self.app = app
            self.configuration = configuration
        }

        /// The options of this repository's tests, whose servers use `http` on this machine;
        /// unsigned without a key.
        package init(
            testing keys: [VerificationKey],
            serverTrust: ServerTrust = .system,
            timeout: Duration = .seconds(30),
            answerLimit: Int = 64 << 20,
            app: String? = nil,
            configuration: URLSessionConfiguration = .ephemeral
        ) {
            self.init(
                signatures: keys.isEmpty ? .unsigned : .pinned(keys),
                serverTrust: serverTrust,
                timeout: timeout,
                answerLimit: answerLimit,
                app: app,
                configuration: configuration
            )
            self.trustsLoopback = true
        }
    }
}
