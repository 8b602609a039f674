/// A proof that an answer is not the server's own answer to this request.
///
/// An interference never contains a payload or a credential, so an app may log it.
public struct Interference: Error, Sendable, Hashable {
    /// Which check the answer failed.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The answer does not echo `MyToken`: it comes from a captive portal or is a proxy's
        /// error page, or a proxy has removed the field.
        case missingEcho
        /// The echo belongs to another request: the answer came from a cache.
        case wrongEcho
        /// The answer is a redirect, which the API does not use. The client does not follow it.
        case redirect
        /// The signature is missing or wrong, though a key is pinned.
        case signature
        /// The signature covers fewer parts than the client asks for, so the answer may belong to
        /// another request.
        case insufficientCoverage
        /// The signature is valid, but its time is too far from the device's time: one of the two
        /// clocks is wrong. Or the server's certificate is not valid at the device's time.
        case wrongClock
        /// The answer is for another account than the client's: somebody between client and server
        /// has sent the request with other credentials.
        case wrongAccount
        /// The body has fewer bytes than its `Content-Length`, or the connection ended early.
        case truncated
        /// The answer has more bytes than the client accepts.
        case oversized
        /// The body is not JSON.
        case notJSON
        /// The body is JSON, but not an answer to this request.
        case unexpectedBody
        /// The answer contains a notification with another id than the requested id.
        case wrongID
        /// The answer is a 304, but the request had no validator, or a different one.
        case unexpectedNotModified
        /// The system does not trust the server's TLS certificate, or the certificate's chain has
        /// none of the pinned keys.
        case untrustedKey
    }

    /// Which check the answer failed.
    public let kind: Kind
    /// The checked value, as the server's own answer would have it.
    public let expected: String
    /// The checked value, as this answer had it; `nil` if the answer had no such value.
    public let seen: String?
    /// The status of the answer; 0 without an answer.
    public let status: Int
    /// The requested path, without its query.
    public let path: String

    /// Creates an interference for an app's own tests and previews.
    public init(
        kind: Kind,
        expected: String,
        seen: String? = nil,
        status: Int = 200,
        path: String = "/api/notifications"
    ) {
        self.kind = kind
        self.expected = expected
        self.seen = seen
        self.status = status
        self.path = path
    }
}

extension Interference: CustomStringConvertible {
    /// A text for a log, such as `wrongEcho: expected 17003, saw 20, status 200 of /api/register`.
    public var description: String {
        "\(self.kind.rawValue): expected \(self.expected), saw \(self.seen ?? "nothing"), "
            + "status \(self.status) of \(self.path)"
    }
}
