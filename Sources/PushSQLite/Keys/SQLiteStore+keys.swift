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
        let record = AuditRecord(.changeKeys, of: "key \(keyring.sealing)", by: actor, at: now)
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
                try count + (db.first("select count(*) from \(sql: column.table)") { Int($0.integer(0)) } ?? 0)
            }
        }
    }
}
