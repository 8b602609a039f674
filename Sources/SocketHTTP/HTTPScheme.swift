/// The scheme of an HTTP URL.
package enum HTTPScheme: String, Sendable {
    case http, https

    /// Reads a scheme in any case (RFC 3986 §3.1); `nil` for any other.
    package init?(_ text: String) {
        self.init(rawValue: text.lowercased())
    }
}
