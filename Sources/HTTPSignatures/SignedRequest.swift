public import Foundation

/// The parts of an answer's request that signatures can cover.
public struct SignedRequest: Sendable, Hashable {
    /// The method as sent, such as `GET`.
    public let method: String
    /// The path as in the request line, percent-encoded.
    public let path: String
    /// The text after the question mark, percent-encoded. `nil` if the target has no question
    /// mark; this counts as an empty text.
    public let query: String?
    /// `MyToken` as sent; `nil` without one.
    public let token: String?
    /// The `nonce` that `Accept-Signature` asks for; `nil` without one. The signature has it as a
    /// parameter.
    public let nonce: String?

    /// Creates a request with the parts of its target as sent.
    ///
    /// Behind a proxy that changes paths, pass the parts that the server receives, because it
    /// signs those.
    public init(method: String, path: String, query: String?, token: String?, nonce: String? = nil) {
        self.method = method
        self.path = path
        self.query = query
        self.token = token
        self.nonce = nonce
    }

    /// Creates a request to a URL that the client sends unchanged.
    ///
    /// Clients normalise URLs before they send them. If yours has dot segments, characters that
    /// need encoding, or needlessly encoded ones, ask the client for the URL that it has sent.
    public init(method: String, url: URL, token: String?, nonce: String? = nil) {
        self.init(
            method: method,
            path: url.path(percentEncoded: true),
            query: url.query(percentEncoded: true),
            token: token,
            nonce: nonce
        )
    }

    /// The value of one of the request's components; `nil` if the request lacks it.
    func value(of component: SignatureComponent) -> String? {
        switch component {
        case .requestToken: self.token.map { FieldLines.value(of: [$0]) }
        case .method: self.method
        // An empty path counts as a slash (RFC 9421 §2.2.6), and the path of the asterisk form is
        // empty (RFC 9110 §7.1).
        case .path: ["", "*"].contains(self.path) ? "/" : self.path
        // The question mark is present even without a query (RFC 9421 §2.2.7).
        case .query: "?\(self.query ?? "")"
        default: nil
        }
    }
}
