/// A proof that an answer is not the server's own to this request.
///
/// It never holds anything of a payload or a credential, so that it may be logged.
public struct Interference: Error, Sendable, Hashable {
    /// Which check the answer failed.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The answer does not echo `MyToken`: a captive portal, an error page of a proxy, a field
        /// that was removed.
        case missingEcho
        /// The echo belongs to another request: a cache.
        case wrongEcho
        /// A redirect, which the API does not use. It is not followed.
        case redirect
        /// The signature is missing or wrong, though a key is pinned.
        case signature
        /// The signature covers less than the client asks for: an answer that may have been made
        /// for another request.
        case insufficientCoverage
        /// The signature is right, and was made at a time that is too far from the device's: its
        /// clock is wrong, or the server's.
        case wrongClock
        /// The answer is for another account than the client's: whoever sits in between has sent
        /// the request with other credentials.
        case wrongAccount
        /// The body has fewer bytes than were announced, or the connection ended in the middle.
        case truncated
        /// More bytes than any answer has.
        case oversized
        /// The body is not JSON.
        case notJSON
        /// The body is JSON, but not what this request is answered with.
        case unexpectedBody
        /// Another notification than the one that was asked for.
        case wrongID
        /// 304 to a request that had no validator, or for another one than it had.
        case unexpectedNotModified
        /// The TLS certificate has none of the keys that are pinned.
        case untrustedKey
    }

    /// Which check the answer failed.
    public let kind: Kind
    /// The value in the server's own answer.
    public let expected: String
    /// The value in this answer; `nil` if it had none.
    public let seen: String?
    /// The status of the answer; 0 if there was none.
    public let status: Int
    /// The path that was asked for, without its query.
    public let path: String

    /// An interference as an app's own tests and previews want it.
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
    /// For a log: `wrongEcho: expected 17003, saw 20, status 200 of /api/register`.
    public var description: String {
        "\(self.kind.rawValue): expected \(self.expected), saw \(self.seen ?? "nothing"), "
            + "status \(self.status) of \(self.path)"
    }
}
