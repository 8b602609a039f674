internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// The keys with which the store seals and hashes.
struct Sealing: Sendable {
    let vault: Vault
    let secret: IndexSecret
    let index: BlindIndex
    let rows: RowMAC
    let codes: ConfirmationCodes

    /// Stores the keyring's first key as one in use, and reads the database's secret, or creates it at the first start.
    ///
    /// Throws `StoreError.wrongKeyring` if a key in use is not in the keyring.
    init(_ db: Database, _ keyring: Keyring) throws {
        try DataKeyEntry.fetchAll(db).check(keyring)
        try DataKeyEntry.note(db, keyring, now: Date())
        self.vault = Vault(keyring)
        self.secret = try Self.secret(db, self.vault)
        self.index = BlindIndex(self.secret)
        self.rows = RowMAC(key: self.secret.derive("row"))
        self.codes = ConfirmationCodes(self.secret)
    }

    func seal(_ text: String, in place: SealedPlace) throws -> Data {
        try self.vault.seal(Data(text.utf8), in: place)
    }

    /// Seals texts as one value.
    func seal(_ texts: [String], in place: SealedPlace) throws -> Data {
        try self.vault.seal(try JSONEncoder().encode(texts), in: place)
    }

    func text(_ sealed: Data, in place: SealedPlace) throws -> String {
        String(decoding: try self.vault.open(sealed, in: place), as: UTF8.self)
    }

    func texts(_ sealed: Data, in place: SealedPlace) throws -> [String] {
        try JSONDecoder().decode([String].self, from: try self.vault.open(sealed, in: place))
    }

    func seal(_ tags: Set<Tag>, in place: SealedPlace) throws -> Data {
        try self.seal(tags.map(\.description).sorted(), in: place)
    }

    /// The tags, sorted.
    func tags(_ sealed: Data, in place: SealedPlace) throws -> [Tag] {
        try self.texts(sealed, in: place).compactMap { Tag($0) }
    }

    /// What the pushes of a notification show.
    func alert(_ sealed: Data, of notification: Int64, sender: Int64) throws(VaultError) -> PushAlert {
        guard let id = NotificationID(rawValue: notification) else { throw .unreadable }
        let json = try self.vault.open(sealed, in: .alert(id, sender: sender))
        do {
            return try JSONDecoder().decode(PushAlert.self, from: json)
        } catch {
            // It was sealed as something else.
            throw .unreadable
        }
    }

    /// Throws `VaultError` if the value was not sealed as a name.
    func username(_ sealed: Data, ofUser user: Int64) throws -> Username {
        guard let name = Username(try self.text(sealed, in: .username(user))) else { throw VaultError.unreadable }
        return name
    }

    private static func secret(_ db: Database, _ vault: Vault) throws -> IndexSecret {
        if let sealed = try Data.fetchOne(db, sql: "select secret from index_secret") {
            guard let secret = IndexSecret(bytes: try vault.open(sealed, in: .indexSecret)) else {
                throw VaultError.unreadable
            }
            return secret
        }
        let secret = IndexSecret()
        try db.execute(
            sql: "insert into index_secret (id, secret) values (1, ?)",
            arguments: [try vault.seal(secret.bytes, in: .indexSecret)]
        )
        return secret
    }
}
