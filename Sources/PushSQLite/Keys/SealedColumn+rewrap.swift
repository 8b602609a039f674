internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension SealedColumn {
    static let all = Self.all(usersIn: "user")

    /// How many values are encrypted with a key.
    func count(_ db: Database, with key: UInt32) throws -> Int {
        try Int.fetchOne(
            db,
            sql: """
                select count(*) from \(self.table)
                where substr(\(self.column), \(Vault.keyNumber.lowerBound + 1), \(Vault.keyNumber.count)) = ?
                """,
            arguments: [withUnsafeBytes(of: key.bigEndian) { Data($0) }]
        ) ?? 0
    }

    /// Encrypts again the values of the next rows that another key than the first has encrypted.
    func rewrap(_ db: Database, _ vault: Vault, after row: Int64, limit: Int) throws -> Page {
        let last = try Int64.fetchOne(
            db.cachedStatement(
                sql: "select \(self.key) from \(self.table) where \(self.key) > ? order by \(self.key) limit 1 offset ?"
            ),
            arguments: [row, limit - 1]
        )
        let number = withUnsafeBytes(of: vault.keyring.sealing.bigEndian) { Data($0) }
        let rows = try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    select \(self.key), \(self.column), \(self.bound) from \(self.table)
                    where \(self.key) > ? and \(self.key) <= ? and \(self.column) is not null
                        and substr(\(self.column), \(Vault.keyNumber.lowerBound + 1), \(Vault.keyNumber.count)) <> ?
                    """
            ),
            arguments: [row, last ?? .max, number]
        )
        let update = try db.cachedStatement(
            sql: "update \(self.table) set \(self.column) = ? where \(self.key) = ?"
        )
        var renewed = 0
        var unreadable = 0
        for row in rows {
            let number: Int64 = try row[0]
            guard let place = self.place(number, try row[2]) else { continue }
            do {
                guard let value = try vault.renewed(row[1], in: place) else { continue }
                try update.execute(arguments: [value, number])
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
