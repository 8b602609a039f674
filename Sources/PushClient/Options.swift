public import Foundation
package import HTTPSignatures

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

extension PushClient {
    /// The settings of a client. All except `signatures` have a default.
    public struct Options: Sendable {
        /// Whether the server must sign its answers, and the keys that it must use.
        public var signatures: Signatures
        /// The largest accepted difference between the clocks of server and device. It applies
        /// only to signed answers without the request's nonce, which servers of earlier versions
        /// send. Not negative.
        public var signatureTolerance: Duration
        /// The certificates that the client trusts.
        public var serverTrust: ServerTrust
        /// The time limit of one request, from its beginning to the last byte of its answer; more
        /// than zero, as ``deadline`` and ``answerLimit``.
        public var timeout: Duration
        /// The time limit of one call, with all of its requests and retries: registering, for
        /// example, may need four requests.
        public var deadline: Duration = .seconds(60)
        /// Whether several accounts are signed in on this device at the same time. If so, a
        /// registration does not replace other accounts' registrations of the same handle. Each
        /// push then has a hint that identifies its account, for
        /// ``PushClient/recipient(of:among:)``.
        public var isDeviceShared = false
        /// The certificate that identifies the client. Some companies' servers and proxies ask for
        /// such a certificate. `URLCredential(identity:certificates:persistence:)` makes the
        /// credential from an identity of the keychain. With `nil`, the client presents no
        /// certificate.
        public var clientCertificate: URLCredential?
        /// The maximum number of bytes of an answer's body; a call with a longer answer fails. The
        /// default is enough for every list of notifications. Other answers may have at most 1 MiB
        /// + 64 KiB, even if this limit is higher.
        ///
        /// An extension fetches one notification and has little memory: for an extension 256 KiB
        /// are enough, unless the server's operator allows payloads larger than 64 KiB. Of an
        /// answer that is not the server's own, the client reads only the head.
        public var answerLimit: Int
        /// The name of this client's app, if the server sends for several apps: 1 to 64 characters
        /// of `a-z 0-9 - _`. `nil` means the account's only app, or the app `default` if the
        /// account has several. With ``deviceKey``, `nil` always means `default`, since an
        /// end-to-end payload is bound to the name of its app.
        public var app: String?
        /// The public keys of this device (``DeviceKeys/key``), if the device opens end-to-end
        /// payloads. The calls that register the device then also give the keys to the server.
        /// Requests for notifications also ask for the content keys that senders have encrypted
        /// for this device.
        public var deviceKey: DeviceKey?
        /// The configuration of the client's URL session. The client switches off its caches and
        /// cookies, and sends the server no credentials that the system has stored. A background
        /// configuration is a programmer's mistake, because a background task cannot return its
        /// answer to a call. On Linux, only `protocolClasses` and `httpAdditionalHeaders` have an
        /// effect.
        public var configuration: URLSessionConfiguration
        /// A closure that the client calls after each request, for logs and counters. It runs on
        /// the task of the call, so it must not block.
        public var observe: (@Sendable (ClientEvent) -> Void)?
        /// A closure that returns fields to add to a request, such as `traceparent`. Its arguments
        /// are the method and the route: the path with `{id}` in place of ids and topics. The
        /// client ignores fields that it or the platform sets, such as `Authorization` and `Host`.
        /// For a malformed name, a line break or a value other than ASCII, the call throws
        /// ``PushClientError/invalidValue(_:)``. The closure runs on the task of the call, so it
        /// must not block.
        public var headers: (@Sendable (_ method: String, _ route: String) -> [String: String])?
        /// Sends a request in place of the client, for example with an HTTP client that requires
        /// certificate transparency. `maximumBody` is the maximum number of bytes that the client
        /// accepts. Of a longer body, return `maximumBody + 1` bytes.
        ///
        /// Return the answer as it is: follow no redirect, and use no cache and no stored
        /// credentials. Throw `URLError` if there is no answer. The client still adds the
        /// credentials, checks the answer and limits the time. ``clientCertificate`` and
        /// ``configuration`` do not apply, and with pinned certificate keys each call throws
        /// ``PushClientError/pinningUnavailable``. Event streams never use this closure.
        public var exchange:
            (@Sendable (_ request: URLRequest, _ maximumBody: Int) async throws -> (Data, HTTPURLResponse))?
        /// The delay before the client reopens an event stream, until the server sends a delay.
        /// Tests set this value.
        package var streamRetry = Duration.seconds(2)
        /// Whether the client accepts pinned keys with `http`, for servers on this machine. Tests
        /// set this value.
        package var trustsLoopback = false
        /// Returns the current time. Tests set this value.
        package var now: @Sendable () -> Date = { Date() }

        /// Creates options; an argument that is left out has its default.
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

        /// Creates options for this repository's tests, whose servers use `http` on this machine.
        /// Without keys, answers are unsigned.
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
