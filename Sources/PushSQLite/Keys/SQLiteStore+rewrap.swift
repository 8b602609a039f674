internal import Foundation
internal import PushCore
package import PushStore
internal import SQLite
internal import Synchronization

extension SealedColumn {
    /// The SQL expression for the number of the key that encrypts a value.
    private var keyNumber: SQL {
        let place = Vault.keyNumber
        return "substr(\(sql: self.column), \(sql: place.lowerBound + 1), \(sql: place.count))"
    }

    /// The number of values that are encrypted with a key.
    func count(_ db: Database, with key: UInt32) throws -> Int {
        let key = withUnsafeBytes(of: key.bigEndian) { Data($0) }
        return Int(try db.number("select count(*) from \(sql: self.table) where \(self.keyNumber) = \(key)") ?? 0)
    }

    /// Re-encrypts those values of the next rows that are not encrypted with the keyring's first
    /// key.
    func rewrap(_ db: Database, _ vault: Vault, after row: Int64, limit: Int) throws -> Page {
        let last = try db.number(
            """
            select \(sql: self.key) from \(sql: self.table)
            where \(sql: self.key) > \(row) order by \(sql: self.key) limit 1 offset \(limit - 1)
            """
        )
        let new = withUnsafeBytes(of: vault.keyring.sealing.bigEndian) { Data($0) }
        let rows = try db.all(
            """
            select \(sql: self.key) as number, \(sql: self.column) as value, \(sql: self.bound) as bound
            from \(sql: self.table) where \(sql: self.key) > \(row) and \(sql: self.key) <= \(last ?? .max)
                and \(sql: self.column) is not null and \(self.keyNumber) <> \(new)
            """
        ) { try (number: $0.integer("number"), value: $0.data("value"), bound: $0.integer("bound")) }
        var renewed = 0
        var unreadable = 0
        for row in rows {
            guard let place = self.place(row.number, row.bound) else { continue }
            do {
                guard let value = try vault.renewed(row.value, in: place) else { continue }
                let (table, column, key) = (self.table, self.column, self.key)
                try db.run("update \(sql: table) set \(sql: column) = \(value) where \(sql: key) = \(row.number)")
                renewed += 1
            } catch is VaultError {
                // The result counts this unreadable value, so that an operator learns of it. Its
                // key stays in use, because the value may be repaired from a backup.
                unreadable += 1
            }
        }
        return (last, renewed, unreadable)
    }
}

extension SQLiteStore {
    package func rewrap(page: Int?, passed: @Sendable (Int) async throws -> Void) async throws -> RewrapResult? {
        let (vault, page) = (self.sealing.vault, page ?? SealedColumn.rewrapPage)
        let exchange = self.exchanges.load(ordering: .relaxed)
        let others = try await self.writer.write(.housekeeping) { db in
            try DataKeyEntry.fetchAll(db).map(\.number).filter { $0 != vault.keyring.sealing }
        }
        guard !others.isEmpty else { return nil }
        var result = try await RewrapResult(SealedColumn.all, page: page, passed: passed) { column, last in
            try await self.writer.write(.housekeeping) { [writer] db in
                let done = try column.rewrap(db, vault, after: last, limit: page)
                if done.renewed > 0 { writer.recordErasure() }
                return done
            }
        }
        guard result.unreadable == 0 else { return result }
        result.unused = try await self.writer.write(.housekeeping) { db in
            // If the keyring was replaced during this pass of `rewrap`, this pass deletes no keys;
            // the pass for the new keyring deletes them.
            guard self.exchanges.load(ordering: .relaxed) == exchange else { return [] }
            for number in others {
                try db.run("delete from data_key where number = \(Int64(number))")
            }
            return others
        }
        return result
    }
}
