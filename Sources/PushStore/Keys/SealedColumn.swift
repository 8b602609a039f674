package import PushCore

/// A column with encrypted values, which must be encrypted again when the encrypting key changes.
package struct SealedColumn: Sendable {
    /// The number of values that one transaction of `rewrap` checks by default.
    package static let rewrapPage = 200

    /// The result of one page of `rewrap`: the last row that was read (`nil` if this was the last
    /// page), the number of re-encrypted values, and the number of values that cannot be
    /// decrypted.
    package typealias Page = (last: Int64?, renewed: Int, unreadable: Int)

    package let table: String
    /// The column that contains the number of the row.
    package let key: String
    package let column: String
    /// The column with a second number, which the encryption is also bound to; `0` if there is no
    /// such column.
    package var bound = "0"
    /// Makes the place (row and column) that the encryption of a value is bound to, from the row's
    /// number and the second number.
    package let place: @Sendable (Int64, Int64) -> SealedPlace?

    /// All columns with encrypted values.
    package static let all = [
        SealedColumn(table: "index_secret", key: "id", column: "secret") { _, _ in .indexSecret },
        SealedColumn(table: "account", key: "id", column: "name") { row, _ in .username(row) },
        SealedColumn(table: "account", key: "id", column: "tags") { row, _ in .userTags(row) },
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
