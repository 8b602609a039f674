internal import Bytes
internal import Cryptography
internal import Foundation
internal import PushCore

/// The secrets of a webhook. Each push is signed with each of them, so that a receiver can change
/// from one to the next.
///
/// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
struct WebhookSecret: Sendable {
    /// The specification asks for 24 to 64 bytes.
    static let shortest = 24
    private static let prefix = "whsec_"

    private let keys: [Secret<SymmetricKey>]

    /// Reads one secret a line: `whsec_` and base64, or any other text, whose bytes are the key.
    init(_ text: Secret<String>) throws(SenderSettingsError) {
        var keys: [Secret<SymmetricKey>] = []
        for line in text.exposed.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty { continue }
            let bytes =
                line.hasPrefix(Self.prefix)
                ? Base64.bytes(inAnySpelling: line.dropFirst(Self.prefix.count).utf8) : Array(line.utf8)
            guard let bytes, bytes.count >= Self.shortest else {
                throw .badValue(
                    field: "secretFile",
                    expected: "a file with whsec_ and base64, or a text, of at least \(Self.shortest) bytes a line"
                )
            }
            keys.append(Secret(SymmetricKey(data: bytes)))
        }
        guard !keys.isEmpty else {
            throw .badValue(field: "secretFile", expected: "a file with a secret, and is empty")
        }
        self.keys = keys
    }

    /// The value of `webhook-signature`.
    func signature(id: String, timestamp: String, body: [UInt8]) -> String {
        let content = Array("\(id).\(timestamp).".utf8) + body
        return self.keys.map { key in
            "v1," + Base64.standard.text(of: HMAC<SHA256>.authenticationCode(for: content, using: key.exposed))
        }.joined(separator: " ")
    }
}
