package import Foundation
package import PushCore

/// A recipient of a notification, in the form for the notification's publisher.
package struct RecipientEntry: Sendable, Hashable {
    /// The user's number; lists are in the order of these numbers.
    package let user: Int64
    /// The user's name; `nil` if the user was deleted.
    package let username: Username?
    /// When the user first fetched the payload, with any device.
    package let fetchedAt: Date?
    package let readAt: Date?
    package let dismissedAt: Date?
}

extension RecipientEntry: StoredEntity {
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        let user = try row.integer(RecipientColumn.userID)
        self.init(
            user: user,
            username: try row.optionalData(RecipientColumn.name).map { try sealing.username($0, ofUser: user) },
            fetchedAt: try row.optionalDate(RecipientColumn.fetchedAt),
            readAt: try row.optionalDate(RecipientColumn.readAt),
            dismissedAt: try row.optionalDate(RecipientColumn.dismissedAt)
        )
    }
}

/// The columns of a recipient in lists. The queries name the recipient `r`, and the user `u`.
package enum RecipientColumn: Int32, SelectedColumn {
    case userID, name, fetchedAt, readAt, dismissedAt

    package var sql: String { self == .name ? "u.name" : "r.\(self.columnName)" }
}

/// The state of a notification, in the form for operators.
package struct NotificationSummary: Sendable, Hashable {
    package let id: NotificationID
    package let app: AppName
    package let isEndToEnd: Bool
    package let createdAt: Date
    package let expiresAt: Date
    /// When the notification was recalled; `nil` if it was not.
    package let recalledAt: Date?
}

extension NotificationSummary: StoredEntity {
    /// The columns, for queries that name the notification `n`.
    package enum Column: Int32, SelectedColumn {
        case id, app, isEndToEnd, createdAt, expiresAt, recalledAt

        package var sql: String { "n.\(self.columnName)" }
    }

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let id = NotificationID(rawValue: try row.integer(Column.id)) else { return nil }
        self.init(
            id: id,
            app: AppName(stored: try row.optionalText(Column.app)),
            isEndToEnd: try row.flag(Column.isEndToEnd),
            createdAt: try row.date(Column.createdAt),
            expiresAt: try row.date(Column.expiresAt),
            recalledAt: try row.optionalDate(Column.recalledAt)
        )
    }
}
