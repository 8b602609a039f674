package import Foundation
package import PushCore
package import PushStore
internal import SQLite
internal import Synchronization

extension SQLiteStore {
    package func replaceKeyring(_ keyring: Keyring, by actor: AuditRecord.Actor, now: Date) async throws -> Bool {
        guard keyring != self.sealing.vault.keyring else { return false }
        // The number of replacements rises before the keyring is replaced. A pass of `rewrap` that
        // ends meanwhile notices the new number, and does not delete a key that is in use again.
        self.exchanges.wrappingAdd(1, ordering: .relaxed)
        let record = AuditRecord(replacementBy: keyring, by: actor, at: now)
        try await self.writer.write { [audit] db in
            try DataKeyEntry.fetchAll(db).check(keyring)
            try DataKeyEntry.record(db, keyring, now: now)
            try audit.append(record, to: db)
        }
        self.sealing.vault.replaceKeyring(keyring)
        return true
    }

    package func addSeals(_ seals: [UInt32: Int]) async throws {
        try await self.writer.write(.housekeeping) { db in
            for (number, count) in seals {
                try db.run("update data_key set seals = seals + \(count) where number = \(Int64(number))")
            }
        }
    }
}

extension SQLiteReader {
    package func countSealed() throws(StoreError) -> Int {
        try self.read { db in
            try SealedColumn.all.reduce(0) { count, column in
                try count + Int(db.number("select count(*) from \(sql: column.table)") ?? 0)
            }
        }
    }
}

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
        if let sealed = try db.first("select secret from index_secret", decode: { try $0.data() }) {
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
        try db.all(SQL(sql: Self.all)) { try DataKeyEntry($0) }.compactMap { $0 }
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
