internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SealedColumn {
    static let all = Self.all(usersIn: "user")

    /// The number of a value's key.
    private var keyNumber: SQL {
        let place = Vault.keyNumber
        return "substr(\(sql: self.column), \(sql: place.lowerBound + 1), \(sql: place.count))"
    }

    /// How many values are encrypted with a key.
    func count(_ db: Database, with key: UInt32) throws -> Int {
        let key = withUnsafeBytes(of: key.bigEndian) { Data($0) }
        return try db.first("select count(*) from \(sql: self.table) where \(self.keyNumber) = \(key)") {
            Int($0.integer(0))
        } ?? 0
    }

    /// Re-encrypts the values of the next rows that are not encrypted under the first key.
    func rewrap(_ db: Database, _ vault: Vault, after row: Int64, limit: Int) throws -> Page {
        let last = try db.first(
            """
            select \(sql: self.key) from \(sql: self.table)
            where \(sql: self.key) > \(row) order by \(sql: self.key) limit 1 offset \(limit - 1)
            """
        ) { $0.integer(0) }
        let new = withUnsafeBytes(of: vault.keyring.sealing.bigEndian) { Data($0) }
        let rows = try db.all(
            """
            select \(sql: self.key), \(sql: self.column), \(sql: self.bound) from \(sql: self.table)
            where \(sql: self.key) > \(row) and \(sql: self.key) <= \(last ?? .max) and \(sql: self.column) is not null
                and \(self.keyNumber) <> \(new)
            """
        ) { (number: $0.integer(0), value: $0.data(1), bound: $0.integer(2)) }
        var renewed = 0
        var unreadable = 0
        for row in rows {
            guard let place = self.place(row.number, row.bound) else { continue }
            do {
                guard let value = try vault.renewed(row.value, in: place) else { continue }
                try db.run(
                    """
                    update \(sql: self.table) set \(sql: self.column) = \(value) where \(sql: self.key) = \(row.number)
                    """
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
