internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

extension Sealing {
    /// Marks the keyring's first key as in use, and reads the database's secret. The first start
    /// creates this secret.
    ///
    /// Throws `StoreError.wrongKeyring` if the keyring lacks a key that is in use.
    init(_ db: Database, _ keyring: Keyring, now: Date) throws {
        try DataKeyEntry.fetchAll(db).check(keyring)
        try DataKeyEntry.record(db, keyring, now: now)
        let vault = Vault(keyring)
        self.init(vault, try Self.secret(db, vault))
    }

    private static func secret(_ db: Database, _ vault: Vault) throws -> IndexSecret {
        if let sealed = try db.first("select secret from index_secret", decode: { $0.data(0) }) {
            guard let secret = IndexSecret(bytes: try vault.open(sealed, in: .indexSecret)) else {
                throw VaultError.unreadable
            }
            return secret
        }
        let secret = IndexSecret()
        try db.run("insert into index_secret (id, secret) values (1, \(vault.seal(secret.bytes, in: .indexSecret)))")
        return secret
    }
}

extension DataKeyEntry {
    /// Selects all keys in use, the oldest first.
    static func fetchAll(_ db: Database) throws -> [DataKeyEntry] {
        try db.all(prepared: Self.all) { try DataKeyEntry($0) }.compactMap { $0 }
    }

    /// Marks the keyring's first key as in use. The row must be on the disk before any value is
    /// encrypted with this key.
    static func record(_ db: Database, _ keyring: Keyring, now: Date) throws {
        guard let checkValue = keyring.checkValue(of: keyring.sealing) else { return }
        try db.run(
            """
            insert into data_key (number, check_value, used_at)
            values (\(Int64(keyring.sealing)), \(checkValue), \(now.milliseconds)) on conflict (number) do nothing
            """
        )
    }
}
