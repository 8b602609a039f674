internal import Foundation
internal import PushCore

/// The columns of a push in lists. The queries name the push `d`, its device `v`, its user `u`,
/// and the user's receipt `r`.
package enum DeliveryColumn: Int32, SelectedColumn {
    case number, userID, device, name, lane, stage, attempts, reason, receiptAt, settledAt, dueAt

    package var sql: String {
        switch self {
        case .number: "d.device"
        case .device: "v.id"
        case .name: "u.name"
        case .stage: DeliveryStage.expression
        case .receiptAt: "coalesce(r.read_at, r.fetched_at)"
        default: "d.\(self.columnName)"
        }
    }
}

extension DeliveryStage {
    package static let expression = """
        case when d.state = 'accepted' and r.read_at is not null then 'read'
            when d.state = 'accepted' and r.fetched_at is not null then 'fetched' else d.state end
        """
}

extension DeliveryEntry: StoredEntity {
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let state = DeliveryStage(rawValue: try row.text(DeliveryColumn.stage)) else { return nil }
        let isReceived = state == .fetched || state == .read
        let receiptAt = isReceived ? try row.optionalDate(DeliveryColumn.receiptAt) : nil
        let user = try row.integer(DeliveryColumn.userID)
        self.init(
            number: try row.integer(DeliveryColumn.number),
            device: try row.optionalText(DeliveryColumn.device).flatMap { RegistrationID($0) },
            username: try row.optionalData(DeliveryColumn.name).map { try sealing.username($0, ofUser: user) },
            lane: Lane(stored: try row.text(DeliveryColumn.lane)),
            state: state,
            attempts: Int(clamping: try row.integer(DeliveryColumn.attempts)),
            updatedAt: try receiptAt ?? row.optionalDate(DeliveryColumn.settledAt),
            nextAttempt: try state == .queued ? row.optionalDate(DeliveryColumn.dueAt) : nil,
            reason: try row.optionalText(DeliveryColumn.reason)
        )
    }
}

/// The column that lists of failed pushes select after those of `DeliveryColumn`. These lists show
/// no receipts.
package enum FailedColumn: Int32, SelectedColumn {
    case notification = 11

    package var sql: String { "d.notification_id" }

    package static let selected =
        DeliveryColumn.allCases.map { column in
            switch column {
            case .stage: "d.state"
            case .receiptAt, .dueAt: "cast(null as bigint)"
            default: column.sql
            }
        }.joined(separator: ", ") + ", " + Self.list
}

extension FailedPush: StoredEntity {
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard
            let id = NotificationID(rawValue: try row.integer(FailedColumn.notification)),
            let delivery = try DeliveryEntry(row, sealing)
        else { return nil }
        let at = try row.date(DeliveryColumn.settledAt)
        let place = FailurePlace(at: at, notification: id.rawValue, device: delivery.number)
        self.init(notification: id, delivery: delivery, place: place)
    }
}

/// The columns of a recipient in lists. The queries name the recipient `r`, and the user `u`.
package enum RecipientColumn: Int32, SelectedColumn {
    case userID, name, fetchedAt, readAt, dismissedAt

    package var sql: String { self == .name ? "u.name" : "r.\(self.columnName)" }
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
