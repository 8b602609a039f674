public import Foundation

/// The request that an answer is for, as far as signatures cover it.
public struct SignedRequest: Sendable, Hashable {
    /// As it was sent: `GET`.
    public let method: String
    /// The path as it stands in the request line, percent-encoded.
    public let path: String
    /// What follows the question mark, percent-encoded; `nil`, which counts as empty, without one.
    public let query: String?
    /// `MyToken` as it was sent; `nil` without one.
    public let token: String?

    /// A request by the parts of its target, as they are sent.
    ///
    /// Behind a proxy that changes paths they are those of the server's side: the server signs what it has received.
    public init(method: String, path: String, query: String?, token: String?) {
        self.method = method
        self.path = path
        self.query = query
        self.token = token
    }

    /// A request to a URL that is sent unchanged.
    ///
    /// Clients normalise URLs before they send them: with dot segments, characters that must be encoded, or encoded ones that
    /// need not be, ask yours what it has sent.
    public init(method: String, url: URL, token: String?) {
        self.init(
            method: method,
            path: url.path(percentEncoded: true),
            query: url.query(percentEncoded: true),
            token: token
        )
    }

    /// The value of one of the request's components; `nil` if it has none.
    func value(of component: SignatureComponent) -> String? {
        switch component {
        case .requestToken: self.token.map { FieldLines.value(of: [$0]) }
        case .method: self.method
        // An empty path is a slash (RFC 9421 §2.2.6), and the path of the asterisk is empty (RFC 9110 §7.1).
        case .path: ["", "*"].contains(self.path) ? "/" : self.path
        // The question mark stands there without a query, too (RFC 9421 §2.2.7).
        case .query: "?\(self.query ?? "")"
        default: nil
        }
    }
}
