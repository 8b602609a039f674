internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

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
