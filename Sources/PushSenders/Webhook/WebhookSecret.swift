internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushCore

/// The secrets of a webhook. Each push is signed with each secret, so that a receiver can change
/// from one secret to the next.
///
/// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
struct WebhookSecret: Sendable {
    /// The smallest number of bytes of a secret: the specification requires 24 to 64 bytes.
    static let shortest = 24
    private static let prefix = "whsec_"

    private let keys: [Secret<SymmetricKey>]

    /// Reads a text with one secret on each line. A secret is `whsec_` and base64, or any other
    /// text; the bytes of such a text are the key.
    ///
    /// Each receiver must read the same keys, so the rule names only ASCII characters: languages
    /// disagree about other blanks and ends of lines. `docs/evidence/vectors/webhooks.json` has
    /// the rule's cases.
    init(_ text: Secret<String>) throws(SenderSettingsError) {
        var keys: [Secret<SymmetricKey>] = []
        for line in text.exposed.split(whereSeparator: { ["\n", "\r", "\r\n"].contains($0) }) {
            let line = line.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
            if line.isEmpty { continue }
            let bytes =
                line.hasPrefix(Self.prefix)
                ? Base64.bytes(inAnySpelling: line.dropFirst(Self.prefix.count).utf8) : Array(line.utf8)
            guard let bytes, bytes.count >= Self.shortest, line.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw .badValue(
                    field: "secretFile",
                    expected: "a file with whsec_ and base64, or ASCII text, of at least \(Self.shortest) bytes a line"
                )
            }
            keys.append(Secret(SymmetricKey(data: bytes)))
        }
        guard !keys.isEmpty else {
            throw .badValue(field: "secretFile", expected: "a file with a secret, and is empty")
        }
        self.keys = keys
    }

    /// The value of the header field `webhook-signature`.
    func signature(id: String, timestamp: String, body: [UInt8]) -> String {
        let content = Array("\(id).\(timestamp).".utf8) + body
        return self.keys.map { key in
            "v1," + Base64.standard.text(of: HMAC<SHA256>.authenticationCode(for: content, using: key.exposed))
        }.joined(separator: " ")
    }
}
