internal import Bytes
internal import Foundation
internal import HTTPSignatures
internal import PushAPI

/// One request to the API.
struct APIRequest: Sendable {
    /// The maximum number of bytes of an answer with one notification: the largest payload that an
    /// operator can allow, 1 MiB, and 64 KiB for the other members.
    static let oneNotification = 1_048_576 + 65_536

    let method: String
    /// The path below the server's URL: absolute, percent-encoded and without a query.
    let path: String
    var query: [URLQueryItem] = []
    var body: JSONValue?
    /// The validator (`ETag`) of the cached answer, which makes the request conditional.
    var tag: String?
    /// The random text that the answer's signature should contain. Each attempt has a new text.
    var nonce: String?
    /// The key of a call that must take effect only once. Both attempts send the same key.
    var idempotencyKey: UUID?
    /// Whether the answer is an event stream. `lastEvent` is the id of the last event of the
    /// previous stream.
    var isStream = false
    var lastEvent: String?
    /// The maximum number of bytes of an answer; the options may set a lower limit.
    var answerLimit = Self.oneNotification
    /// Whether the request begins a session. The answer 201 names the session's account, which
    /// replaces the account that the client knows.
    var isSignIn = false
    /// Whether the request has a payload, which no other account may get.
    var hasPayload = false
    /// Whether the request is sent without credentials.
    var isAnonymous = false
    /// Whether the request may be sent again after the connection was lost, although the server
    /// may have carried out the first request.
    let isRepeatable: Bool

    init(_ method: String, _ path: String, isRepeatable: Bool = true) {
        self.method = method
        self.path = path
        self.isRepeatable = isRepeatable
    }

    /// The query as the client sends it; `nil` if there is none.
    ///
    /// Encodes everything except letters, digits, `-`, `_` and `.`: a handle may be a URL itself,
    /// and a plus sign must stay a plus sign.
    var percentEncodedQuery: String? {
        guard !self.query.isEmpty else { return nil }
        return self.query.map { "\($0.name)=\(Self.escaped($0.value ?? ""))" }.joined(separator: "&")
    }

    /// The parts of this request that the server signs.
    ///
    /// The server signs the path that it receives, which begins at the root of the API. If the
    /// server's URL has a path, a proxy has removed that path.
    func signed(_ token: MyToken) -> SignedRequest {
        SignedRequest(
            method: self.method,
            path: self.path,
            query: self.percentEncodedQuery,
            token: token.description,
            nonce: self.nonce
        )
    }

    /// A nonce of 128 bits.
    static func randomNonce() -> String {
        Base64.url.text(of: (0..<16).map { _ in UInt8.random(in: 0...255) })
    }

    /// Percent-encodes a part of a path or query.
    static func escaped(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: Self.unreserved) ?? ""
    }

    // MARK: - Private

    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
    )
}
