/// The scheme of an HTTP URL.
package enum HTTPScheme: String, Sendable {
    case http, https

    /// Reads a scheme in upper, lower or mixed case (RFC 3986 §3.1); `nil` for another scheme.
    package init?(_ text: String) {
        self.init(rawValue: text.lowercased())
    }
}
