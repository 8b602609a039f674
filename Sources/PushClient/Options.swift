public import HTTPSignatures

#if canImport(FoundationNetworking)
    package import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

extension PushClient {
    /// What may be otherwise than by default.
    public struct Options: Sendable {
        /// The keys of which one must have signed each answer. None: answers are told by `MyToken` alone.
        ///
        /// The first is the one that is asked for; put a new key behind it before the server signs with it.
        public var signatureKeys: [VerificationKey]
        /// How far the clocks of server and device may be apart where answers are signed.
        public var signatureTolerance: Duration
        /// Which certificates are trusted.
        public var serverTrust: ServerTrust
        /// How long one request may take, from its beginning to the last byte of its answer.
        public var timeout: Duration
        /// What the session is made of, as far as caches, cookies and stored credentials are not concerned: there are
        /// none.
        public var configuration: URLSessionConfiguration
        /// The time, which tests choose.
        package var now: @Sendable () -> Date = { Date() }

        /// The defaults, but for what is named.
        public init(
            signatureKeys: [VerificationKey] = [],
            signatureTolerance: Duration = .seconds(300),
            serverTrust: ServerTrust = .system,
            timeout: Duration = .seconds(30),
            configuration: URLSessionConfiguration = .ephemeral
        ) {
            self.signatureKeys = signatureKeys
            self.signatureTolerance = signatureTolerance
            self.serverTrust = serverTrust
            self.timeout = timeout
            self.configuration = configuration
        }
    }
}
