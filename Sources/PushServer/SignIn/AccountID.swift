internal import Bytes
internal import Cryptography
internal import PushCore

/// The opaque identifier of a user. Answers carry it, so that a client notices if an answer is for
/// another user.
struct AccountID: Sendable, Hashable {
    /// The identifier: 22 characters of base64url.
    let text: String
}

/// Derives the account ids of users: they are the same at all servers of a database, after a
/// restore, and after a change of the keys that encrypt data.
struct AccountIDs: Sendable {
    private static let length = 16

    private let code: KeyedHash

    init(secret: IndexSecret) {
        self.code = KeyedHash(key: secret.derive("account id"))
    }

    /// The account id of the user with that number. No other user ever gets the same number.
    func id(ofUser number: Int64) -> AccountID {
        let hash = self.code.code { hash in
            withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
        }
        return AccountID(text: Base64.url.text(of: hash.prefix(Self.length)))
    }
}
