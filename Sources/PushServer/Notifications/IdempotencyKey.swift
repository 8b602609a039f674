internal import Bytes
internal import HTTPSignatures
internal import HTTPTypes
internal import PushAPI
internal import SocketHTTP

/// The name that a client gives to a request which it may send again
/// (draft-ietf-httpapi-idempotency-key-header).
struct IdempotencyKey: Hashable, Sendable {
    static let lengths = 1...255

    let text: String

    /// The key of a request; `nil` if the request has none. The draft puts a key in quotes, but
    /// most clients send it without quotes. With and without quotes the key is the same.
    ///
    /// Throws an `invalid-idempotency-key` problem if the key is repeated or malformed.
    init?(of head: RequestHead) throws(Problem) {
        let count = head.count(of: .idempotencyKey)
        guard count > 0, let field = head[.idempotencyKey] else { return nil }
        guard count == 1 else { throw Problem(.invalidIdempotencyKey, "Idempotency-Key appears more than once") }
        guard let key = Self(field: field) else {
            throw Problem(.invalidIdempotencyKey, "Idempotency-Key must be 1 to 255 visible ASCII characters")
        }
        self = key
    }

    init?(field: String) {
        var text = field
        if field.utf8.first == UInt8(ascii: "\"") {
            // The parser's reason is not needed: the problem states the rule for keys.
            guard let item = try? StructuredFieldParser.item(field), case .string(let content) = item.value else {
                return nil
            }
            text = content
        }
        guard
            Self.lengths.contains(text.utf8.count), text.utf8.allSatisfy(\.isVisible)
        else { return nil }
        self.text = text
    }
}
