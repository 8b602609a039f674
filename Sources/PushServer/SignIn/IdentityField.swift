internal import HTTPTypes
internal import SocketHTTP
internal import Synchronization

/// The request field in which a trusted proxy names the user whom it has signed in, by NTLM,
/// Kerberos, SAML, OIDC or a password.
///
/// Any client could send this field, so the server reads it only if the connection comes from a
/// trusted proxy.
package final class IdentityField: Sendable {
    private let field: HTTPField.Name
    private let ignored = Atomic<Int>(0)

    /// Returns `nil` if `name` is not a valid name of a field.
    package init?(_ name: String) {
        guard let field = HTTPField.Name(name) else { return nil }
        self.field = field
    }

    /// The name of the user, as the proxy writes it; `nil` if the field is missing or empty, or
    /// the peer is not trusted.
    ///
    /// If the field appears twice, the client may have sent one of them. The two values are then
    /// joined by a comma, and the result is no user's name, since no name contains a comma.
    func name(in request: Request) -> String? {
        guard request.isFromTrustedProxy, let name = request.head[self.field], !name.isEmpty else { return nil }
        return name
    }

    /// Counts a request that has the field and is not from a trusted proxy. Call it once for each
    /// request.
    func countIfIgnored(in request: Request) {
        guard !request.isFromTrustedProxy, request.head.count(of: self.field) > 0 else { return }
        self.ignored.wrappingAdd(1, ordering: .relaxed)
    }

    /// The number of requests that `countIfIgnored` has counted.
    var ignoredCount: Int { self.ignored.load(ordering: .relaxed) }
}
