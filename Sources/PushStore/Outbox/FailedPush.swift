package import Foundation
package import PushCore

/// A push that a provider has refused for good, in the list of failed pushes of all notifications.
package struct FailedPush: StoredEntity, Sendable, Hashable {
    package let notification: NotificationID
    package let delivery: DeliveryEntry
    package let place: FailurePlace

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard
            let id = NotificationID(rawValue: try row.integer(FailedColumn.notification)),
            let delivery = try DeliveryEntry(row, sealing)
        else { return nil }
        let at = try row.date(DeliveryColumn.settledAt)
        (self.notification, self.delivery) = (id, delivery)
        self.place = FailurePlace(at: at, notification: id.rawValue, device: delivery.number)
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

/// The place of a failed push in the list of failed pushes, which begins with the newest failure.
package struct FailurePlace: Sendable, Hashable {
    package let at: Date
    package let notification: Int64
    /// The number by which the outbox identifies the device; not the registration id.
    package let device: Int64

    package init(at: Date, notification: Int64, device: Int64) {
        (self.at, self.notification, self.device) = (at, notification, device)
    }
}
