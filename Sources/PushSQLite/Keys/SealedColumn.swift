internal import Foundation
internal import GRDB
internal import PushCore

/// A column whose values are sealed, and so must be sealed again when the key changes.
struct SealedColumn: Sendable {
    let table: String
    /// The column with the row's number.
    let key: String
    let column: String
    /// The column with the other number that the value is bound to, if any.
    var bound = "0"
    /// The place of a row's value, from these two numbers.
    let place: @Sendable (Int64, Int64) -> SealedPlace?

    static let all = [
        SealedColumn(table: "index_secret", key: "id", column: "secret") { _, _ in .indexSecret },
        SealedColumn(table: "user", key: "id", column: "name") { row, _ in .username(row) },
        SealedColumn(table: "user", key: "id", column: "tags") { row, _ in .userTags(row) },
        SealedColumn(table: "device", key: "number", column: "handle") { row, _ in .handle(row) },
        SealedColumn(table: "device", key: "number", column: "tags") { row, _ in .tags(row) },
        SealedColumn(table: "fanout", key: "notification_id", column: "expressions") { row, _ in .expressions(row) },
        SealedColumn(table: "scheduled", key: "notification_id", column: "expressions") { row, _ in .scheduled(row) },
        SealedColumn(table: "audit", key: "number", column: "entry") { row, _ in .audit(row) },
        SealedColumn(table: "notification", key: "id", column: "payload", bound: "sender_id") { row, sender in
            NotificationID(rawValue: row).map { .payload($0, sender: sender) }
        },
        SealedColumn(table: "notification", key: "id", column: "alert", bound: "sender_id") { row, sender in
            NotificationID(rawValue: row).map { .alert($0, sender: sender) }
        },
    ]

    /// The result of one page of `rewrap`.
    struct Page: Sendable {
        /// The last row read; `nil` after the last page.
        let last: Int64?
        let renewed: Int
        /// Values that cannot be opened.
        let unreadable: Int
    }

    /// Seals again the values of the next rows that are not sealed with the first key.
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
                // Reported to an operator. Its key stays in use, for a backup may repair the value.
                unreadable += 1
            }
        }
        return Page(last: last, renewed: renewed, unreadable: unreadable)
    }
}
