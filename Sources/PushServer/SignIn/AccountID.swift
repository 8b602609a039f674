internal import Bytes
internal import Cryptography
internal import PushCore

/// The opaque identifier of an account, which answers carry so that a client notices an answer for somebody else.
struct AccountID: Sendable, Hashable {
    /// 22 characters of base64url.
    let text: String
}

/// Derives the identifiers of accounts: the same at all servers of a database, after a restore and
/// under other data keys.
struct AccountIDs: Sendable {
    private static let length = 16

    private let code: KeyedHash

    init(secret: IndexSecret) {
        self.code = KeyedHash(key: secret.derive("account id"))
    }

    /// The identifier of a user by its number, which is never given to another user.
    func id(ofUser number: Int64) -> AccountID {
        let hash = self.code.code { hash in
            withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
        }
        return AccountID(text: Base64.url.text(of: hash.prefix(Self.length)))
    }
}
