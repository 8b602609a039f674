package import HTTPSignatures

#if canImport(FoundationNetworking)
    package import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

extension PushClient {
    /// Settings with a default.
    public struct Options: Sendable {
        /// Whether the server must sign its answers, and its keys.
        public var signatures: Signatures
        /// How far the clocks of server and device may be apart where answers are signed.
        public var signatureTolerance: Duration
        /// Which certificates are trusted.
        public var serverTrust: ServerTrust
        /// How long one request may take, from its beginning to the last byte of its answer.
        public var timeout: Duration
        /// How long one call may take, with all of its requests and repeats: register, for
        /// example, may need four.
        public var deadline: Duration = .seconds(60)
        /// Whether several accounts are signed in on this device side by side: registrations of
        /// others with the same handle stay, and each push carries a hint that identifies its
        /// account, for ``PushClient/recipient(of:among:)``.
        public var isDeviceShared = false
        /// What the client shows to a server, or to a proxy before it, that asks for a certificate
        /// of its own, as some companies want: `URLCredential(identity:certificates:persistence:)`
        /// makes it of the keychain's. Without one, none is shown.
        public var clientCertificate: URLCredential?
        /// The largest body of an answer, in bytes; longer ones fail. The default admits every
        /// list. Answers other than lists may have at most 1 MiB and 64 KiB in any case.
        ///
        /// In an extension, which fetches one notification and has little memory, 256 KiB are
        /// enough, unless the server's operator has allowed larger payloads than 64 KiB. Other
        /// answers than the server's own are not taken in any case, but for their head.
        public var answerLimit: Int
        /// The app that this client is of, where the server sends for several; `nil`: the
        /// account's only one, or `default`.
        public var app: String?
        /// The session's configuration. The client switches off its caches and cookies, and shows
        /// the server none of the credentials that the system has stored. One for the background
        /// is a programmer's mistake: its tasks answer no call.
        public var configuration: URLSessionConfiguration
        /// How long an event stream waits before it is opened again, until the server has said how
        /// long, which tests choose.
        package var streamRetry = Duration.seconds(2)
        /// Whether keys may be pinned with `http` on this machine, which tests choose.
        package var trustsLoopback = false
        /// The time, which tests choose.
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

        /// The options of this repository's tests, whose servers speak `http` on this machine;
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
