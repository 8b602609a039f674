internal import HTTPTypes
internal import SocketHTTP
internal import Synchronization

/// The field in which a trusted proxy says whom it has signed in, by NTLM, Kerberos, SAML, OIDC or a password.
///
/// Anybody could send it, so it counts only if the other end of the connection is one of the trusted proxies.
package final class IdentityField: Sendable {
    private let field: HTTPField.Name
    private let ignored = Atomic<Int>(0)

    /// `nil` if it is not the name of a field.
    package init?(_ name: String) {
        guard let field = HTTPField.Name(name) else { return nil }
        self.field = field
    }

    /// Whom the request comes from, in the proxy's words; `nil` if it says nothing, or is not to be believed.
    ///
    /// If the field appears twice, one may be the client's. The values come with a comma between them, which no name has.
    func name(in request: Request) -> String? {
        guard request.isFromTrustedProxy, let name = request.head[self.field], !name.isEmpty else { return nil }
        return name
    }

    /// Counts a request that has the field and is not from a trusted proxy. To be called once for each.
    func countIfIgnored(in request: Request) {
        guard !request.isFromTrustedProxy, request.head.count(of: self.field) > 0 else { return }
        self.ignored.wrappingAdd(1, ordering: .relaxed)
    }

    /// How many requests were counted.
    var ignoredCount: Int { self.ignored.load(ordering: .relaxed) }
}
