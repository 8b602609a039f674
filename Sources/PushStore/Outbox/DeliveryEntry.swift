package import Foundation
package import PushCore

/// The state of one push, in the form for the notification's publisher.
package struct DeliveryEntry: Sendable, Hashable {
    /// The number by which the outbox identifies the device; not the registration id. Lists of
    /// pushes are in the order of these numbers.
    package let number: Int64
    /// The device's registration id; `nil` if the device was deleted.
    package let device: RegistrationID?
    /// The name of the device's user; `nil` if the user was deleted.
    package let username: Username?
    /// The queue of the push. Its name may contain a host that only operators and the device's
    /// owner may see.
    package let lane: Lane
    package let state: DeliveryStage
    package let attempts: Int
    /// When the push ended, or when the user fetched or read the notification. `nil` while the
    /// push is queued or being sent.
    package let updatedAt: Date?
    /// When the queued push is due; `nil` if it waits until its device connects, or if it is not
    /// queued.
    package let nextAttempt: Date?
    /// The provider's words for its last refusal, or the reason why the push waits or was
    /// cancelled.
    package let reason: String?

    package var platform: Platform { Platform(stored: self.lane.platform) }
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

/// How far a push has come. Fetches and reads are counted by user: if one device has fetched the
/// notification, this counts for all devices of its user.
package enum DeliveryStage: String, Sendable, CaseIterable {
    case queued, sending, accepted, fetched, read, expired, failed, cancelled

    package static let expression = """
        case when d.state = 'accepted' and r.read_at is not null then 'read'
            when d.state = 'accepted' and r.fetched_at is not null then 'fetched' else d.state end
        """
}
