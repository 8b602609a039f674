internal import Bytes
internal import Foundation
internal import HTTPSignatures
internal import PushAPI

/// One request to the API.
struct APIRequest: Sendable {
    /// The largest payload that an operator can allow, 1 MiB, and the JSON around it.
    static let oneNotification = 1_048_576 + 65_536

    let method: String
    /// Absolute, percent-encoded, below the server's URL and without a query.
    let path: String
    var query: [URLQueryItem] = []
    var body: JSONValue?
    /// The validator of the cached answer.
    var tag: String?
    /// The random text that a signature of the answer should contain; each attempt has its own.
    var nonce: String?
    /// The key that is sent with both attempts of a call that must take effect only once.
    var idempotencyKey: UUID?
    /// Whether the answer is an event stream. `lastEvent` is the last event of the stream before.
    var isStream = false
    var lastEvent: String?
    /// The most bytes of an answer; the options may set a lower limit.
    var answerLimit = Self.oneNotification
    /// Whether the request begins a session. A 201 then names the session's account, which
    /// replaces the account that the client knows.
    var isSignIn = false
    /// Whether the request is sent without credentials.
    var isAnonymous = false
    /// Whether the request may be sent again after the connection was lost, when the server may or
    /// may not have acted on it.
    let isRepeatable: Bool

    init(_ method: String, _ path: String, isRepeatable: Bool = true) {
        self.method = method
        self.path = path
        self.isRepeatable = isRepeatable
    }

    /// The query as sent; `nil` without one.
    ///
    /// Encodes everything except letters, digits, `-`, `_` and `.`: a handle may be a URL itself,
    /// and a plus sign must stay a plus sign.
    var percentEncodedQuery: String? {
        guard !self.query.isEmpty else { return nil }
        return self.query.map { "\($0.name)=\(Self.escaped($0.value ?? ""))" }.joined(separator: "&")
    }

    /// The parts of this request that the server signs.
    ///
    /// The server signs the path that it receives, and its API begins at the root: a proxy has
    /// removed the path of the server's URL, if it has one.
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
