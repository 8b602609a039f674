internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// The name of a request's user, whom a third party has identified. The third party is a trusted
/// proxy, or the authority that has issued the client's certificate.
///
/// RFC 8705 binds tokens to the bytes of a certificate. A voucher binds tokens to the name in the
/// certificate instead, so that a session continues after the certificate was renewed.
struct Voucher {
    /// The name from a trusted proxy, which must match the user of every token in requests of that
    /// proxy; `nil` if no proxy names a user.
    private let proxied: String?
    private let certified: String?

    init(of request: Request, identityField: IdentityField?) {
        self.proxied = identityField?.name(in: request)
        self.certified = request.certificateName
    }

    /// Throws an `invalid-token` problem for a token that its user may no longer use. There are
    /// two cases. The proxy names another user; or the session began with a certificate or a
    /// proxy, and neither names the user in this request.
    func check(_ caller: Caller) throws(Problem) {
        guard let token = caller.token else { return }
        if let proxied {
            guard Self.names(proxied, caller.user) else { throw Problem(.invalidBearerToken) }
        } else if token.isVouched {
            guard let certified, Self.names(certified, caller.user) else { throw Problem(.invalidBearerToken) }
        }
    }

    /// Whether the text is the user's name byte for byte.
    private static func names(_ text: String, _ user: User) -> Bool {
        Username(text)?.isSpelled(like: user.name) == true
    }
}
