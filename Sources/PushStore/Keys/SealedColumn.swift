package import PushCore

/// A column of encrypted values, which must be encrypted again when the key changes.
package struct SealedColumn: Sendable {
    /// The number of values checked in one transaction of `rewrap`.
    package static let rewrapPage = 200

    /// The result of one page of `rewrap`.
    package struct Page: Sendable {
        /// The last row read; `nil` after the last page.
        package let last: Int64?
        package let renewed: Int
        /// The number of values that cannot be decrypted.
        package let unreadable: Int

        package init(last: Int64?, renewed: Int, unreadable: Int) {
            (self.last, self.renewed, self.unreadable) = (last, renewed, unreadable)
        }
    }

    package let table: String
    /// The column with the row's number.
    package let key: String
    package let column: String
    /// The column with the second number that the value is bound to, if any.
    package var bound = "0"
    /// Makes the place that a value is bound to, from the row's number and the second number.
    package let place: @Sendable (Int64, Int64) -> SealedPlace?

    /// All encrypted columns, given the name of the table of users.
    package static func all(usersIn users: String) -> [SealedColumn] {
        [
            SealedColumn(table: "index_secret", key: "id", column: "secret") { _, _ in .indexSecret },
            SealedColumn(table: users, key: "id", column: "name") { row, _ in .username(row) },
            SealedColumn(table: users, key: "id", column: "tags") { row, _ in .userTags(row) },
            SealedColumn(table: "device", key: "number", column: "handle") { row, _ in .handle(row) },
            SealedColumn(table: "device", key: "number", column: "tags") { row, _ in .tags(row) },
            SealedColumn(table: "fanout", key: "notification_id", column: "expressions") { row, _ in .expressions(row)
            },
            SealedColumn(table: "scheduled", key: "notification_id", column: "expressions") { row, _ in .scheduled(row)
            },
            SealedColumn(table: "audit", key: "number", column: "entry") { row, _ in .audit(row) },
            SealedColumn(table: "notification", key: "id", column: "payload", bound: "sender_id") { row, sender in
                NotificationID(rawValue: row).map { .payload($0, sender: sender) }
            },
            SealedColumn(table: "notification", key: "id", column: "alert", bound: "sender_id") { row, sender in
                NotificationID(rawValue: row).map { .alert($0, sender: sender) }
            },
        ]
    }
}
