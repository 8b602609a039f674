public import HTTPSignatures

extension PushClient {
    /// Whether the server must sign its answers. There is no default: each app must decide.
    public enum Signatures: Sendable, Hashable {
        /// Each answer must be signed by one of these keys. The signature must also cover method,
        /// path and query of the request, and the account.
        ///
        /// A server of version 0.1.0 cannot sign all of these parts, so the client treats all its
        /// answers as interferences. Requests ask for a signature with the first key. Append a new
        /// key to the list before the server signs with that key. Without any key, calls throw
        /// ``PushClientError/noSignatureKeys``.
        case pinned([VerificationKey])
        /// Only `MyToken` identifies the server's answers. The echo of `MyToken` reveals
        /// accidents, but no attacks: an attacker can calculate it.
        case unsigned

        var keys: [VerificationKey] {
            switch self {
            case .pinned(let keys): keys
            case .unsigned: []
            }
        }
    }
}
