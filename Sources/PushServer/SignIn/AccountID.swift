internal import Bytes
internal import Cryptography
internal import PushCore

/// The opaque identifier of a user. Answers carry it so that a client notices an answer for
/// another user.
struct AccountID: Sendable, Hashable {
    /// 22 characters of base64url.
    let text: String
}

/// Derives the account ids of users: the same at all servers of a database, after a restore and
/// under other data keys.
struct AccountIDs: Sendable {
    private static let length = 16

    private let code: KeyedHash

    init(secret: IndexSecret) {
        self.code = KeyedHash(key: secret.derive("account id"))
    }

    /// The account id of a user by its number, which no other user ever gets.
    func id(ofUser number: Int64) -> AccountID {
        let hash = self.code.code { hash in
            withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
        }
        return AccountID(text: Base64.url.text(of: hash.prefix(Self.length)))
    }
}
