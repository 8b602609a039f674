internal import Bytes
internal import Cryptography
internal import Foundation

/// Turns a sender's collapse keys into ids for providers. Each id is a keyed hash: it does not
/// reveal the key, and differs from the ids of all other senders' keys.
struct CollapseIDs: Sendable {
    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key
    }

    /// 32 characters of base64url, the limit of Web Push's Topic (RFC 8030 section 5.4).
    func id(of collapseKey: String, from sender: Int64) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(sender) \(collapseKey)".utf8), using: self.key)
        return Base64.url.text(of: code.prefix(24))
    }
}
