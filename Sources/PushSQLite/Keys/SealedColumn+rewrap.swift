internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SealedColumn {
    static let all = Self.all(usersIn: "user")

    /// How many values are encrypted with a key.
    func count(_ db: Database, with key: UInt32) throws -> Int {
        try db.first(
            prepared: """
                select count(*) from \(self.table)
                where substr(\(self.column), \(Vault.keyNumber.lowerBound + 1), \(Vault.keyNumber.count)) = ?
                """,
            withUnsafeBytes(of: key.bigEndian) { Data($0) }
        ) { Int($0.integer(0)) } ?? 0
    }

    /// Encrypts again the values of the next rows that another key than the first has encrypted.
    func rewrap(_ db: Database, _ vault: Vault, after row: Int64, limit: Int) throws -> Page {
        let last = try db.first(
            prepared: """
                select \(self.key) from \(self.table) where \(self.key) > ? order by \(self.key) limit 1 offset ?
                """,
            row,
            limit - 1
        ) { $0.integer(0) }
        let rows = try db.all(
            prepared: """
                select \(self.key), \(self.column), \(self.bound) from \(self.table)
                where \(self.key) > ? and \(self.key) <= ? and \(self.column) is not null
                    and substr(\(self.column), \(Vault.keyNumber.lowerBound + 1), \(Vault.keyNumber.count)) <> ?
                """,
            row,
            last ?? .max,
            withUnsafeBytes(of: vault.keyring.sealing.bigEndian) { Data($0) }
        ) { (number: $0.integer(0), value: $0.data(1), bound: $0.integer(2)) }
        var renewed = 0
        var unreadable = 0
        for row in rows {
            guard let place = self.place(row.number, row.bound) else { continue }
            do {
                guard let value = try vault.renewed(row.value, in: place) else { continue }
                try db.run(
                    prepared: "update \(self.table) set \(self.column) = ? where \(self.key) = ?",
                    value,
                    row.number
                )
                renewed += 1
            } catch is VaultError {
                // The result reports the value to an operator. Its key stays in use, since a
                // backup may repair the value.
                unreadable += 1
            }
        }
        return Page(last: last, renewed: renewed, unreadable: unreadable)
    }
}
