internal import Bytes
internal import Cryptography
internal import Foundation

/// Turns a sender's collapse keys into ids for providers. Each id is a keyed hash over the sender
/// and the collapse key. It does not reveal the collapse key, and differs from the ids of other
/// senders' collapse keys.
struct CollapseIDs: Sendable {
    private let key: SymmetricKey

    init(key: SymmetricKey) {
        self.key = key
    }

    /// The id has 32 characters of base64url, which is the limit of the header field `Topic` of
    /// Web Push (RFC 8030 section 5.4).
    func id(of collapseKey: String, from sender: Int64) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array("\(sender) \(collapseKey)".utf8), using: self.key)
        return Base64.url.text(of: code.prefix(24))
    }
}
