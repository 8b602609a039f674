public import HTTPSignatures

extension PushClient {
    /// Whether the server's answers must be signed. There is no default: an app writes down what
    /// it relies on.
    public enum Signatures: Sendable, Hashable {
        /// Each answer must be signed by one of these keys, also over method, path and query of
        /// its request, and over the account that it is for.
        ///
        /// A server of version 0.1.0 cannot sign so much; all its answers are then interferences.
        /// Requests ask for the first key; put a new key behind it before the server signs with
        /// it. Without any key, calls throw ``PushClientError/noSignatureKeys``.
        case pinned([VerificationKey])
        /// `MyToken` alone tells the server's answers. It shows accidents; an attacker can
        /// calculate it.
        case unsigned

        var keys: [VerificationKey] {
            switch self {
            case .pinned(let keys): keys
            case .unsigned: []
            }
        }
    }
}
