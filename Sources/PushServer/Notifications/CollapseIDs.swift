internal import Bytes
internal import Cryptography
internal import Foundation

/// Turns a sender's collapse keys into ids for providers: a keyed hash, which reveals nothing and differs from those of
/// all other senders' keys.
struct CollapseIDs: Sendable {
    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key
    }

    /// 32 characters of base64url, as Web Push's Topic takes them (RFC 8030 section 5.4).
    func id(of collapseKey: String, from sender: Int64) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(sender) \(collapseKey)".utf8), using: self.key)
        return Base64.url.text(of: code.prefix(24))
    }
}
