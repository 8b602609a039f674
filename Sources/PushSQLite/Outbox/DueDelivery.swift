internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// A due push, with the facts that decide whether it must wait for the minimum interval between
/// pushes to its device.
struct DuePushRow {
    let delivery: DueDelivery
    /// The time when a provider last accepted a push to the device's present address.
    let acceptedAt: Date?
    /// Whether the device has no other push that is not settled yet.
    private let isAlone: Bool
}

extension DuePushRow {
    /// Reads a push; `nil` if its device or its notification does not exist. With
    /// `needsAcceptance`, also reads the facts that `pace` needs.
    init?(_ db: Database, _ key: DuePush, needsAcceptance: Bool, _ sealing: Sealing, _ alerts: OpenedAlerts) throws {
        let row = try db.first(SQL(sql: DueDelivery.row), key.notification, key.device, needsAcceptance) { row in
            let notification = try DueNotification(row, from: DueColumn.start) { alert, sender in
                alerts.alert(of: key.notification) { () throws(VaultError) in
                    try sealing.alert(alert, of: key.notification, sender: sender)
                }
            }
            return DuePushRow(
                delivery: try DueDelivery(row, of: notification, sealing),
                acceptedAt: try row.optionalDate(DueColumn.acceptedAt),
                isAlone: try row.integer(DueColumn.unsettled) == 1
            )
        }
        guard let row else { return nil }
        self = row
    }

    /// Decides whether the push is sent now, waits, or is replaced.
    func pace(_ interval: Duration?, _ db: Database, now: Date) throws -> Pace {
        let (key, sequence) = (self.delivery.key, self.delivery.sequence)
        // If this is the device's only push, no query is needed.
        return try Pace.decide(
            interval?.timeInterval,
            acceptedAt: self.acceptedAt,
            hasNewer: !self.isAlone && db.exists(SQL(sql: DueDelivery.newer), key.device, key.notification, sequence),
            isAnotherUnderWay: !self.isAlone && db.exists(SQL(sql: DueDelivery.underWay), key.device, key.notification),
            now: now
        )
    }
}

extension DuePush {
    init(_ row: borrowing DirectRow) throws {
        self.init(notification: try row.integer("notification_id"), device: try row.integer("device"))
    }
}

extension DueDelivery {
    /// The keys of a queue's due pushes, the oldest first.
    static func keys(_ db: Database, _ request: LeaseRequest, now: Date) throws -> [DuePush] {
        let (lane, queue) = (request.lane.description, request.queue.rawValue)
        return try db.all(SQL(sql: Self.due), lane, queue, now.milliseconds, request.limit) { try DuePush($0) }
    }

    static let due = """
        select notification_id, device from push
        where lane = ? and is_bulk = ? and state = 'queued' and due_at <= ? order by due_at limit ?
        """

    /// Selects a push with the facts that decide whether it is sent. `?3` is `needsAcceptance`.
    static let row = """
        select \(Column.list), \(DueNotification.Column.list), \(DueColumn.list)
        from push c join device v on v.number = c.device join notification n on n.id = c.notification_id
        where c.notification_id = ?1 and c.device = ?2
        """

    /// Selects a newer push that waits for the same device.
    static let newer = """
        select 1 from push x join notification m on m.id = x.notification_id
        where x.device = ?1 and x.settled_at is null and x.due_at is not null and x.is_withdrawn = 0
            and x.lane not like '%\(Lane.lookSuffix)'
            and x.notification_id <> ?2 and (m.sequence, m.id) > (?3, ?2)
        limit 1
        """

    /// Selects another push to the same device that is being sent.
    static let underWay = """
        select 1 from push
        where device = ?1 and settled_at is null and due_at is not null and state = 'sending' and notification_id <> ?2
            and lane not like '%\(Lane.lookSuffix)'
        limit 1
        """
}

/// The columns that `DueDelivery.row` selects after those of `DueDelivery` and `DueNotification`.
private enum DueColumn: Int32, SelectedColumn {
    case acceptedAt = 20
    case unsettled

    /// The first column of `DueNotification`.
    static let start = Int32(DueDelivery.Column.allCases.count)

    var sql: String {
        switch self {
        case .acceptedAt: "(select accepted_at from device_push where device = c.device and ?3)"
        case .unsettled:
            """
            (select count(*) from (
                select 1 from push x where x.device = c.device and x.settled_at is null and x.due_at is not null
                    and x.lane not like '%\(Lane.lookSuffix)' and ?3 limit 2))
            """
        }
    }
}

/// The alert that a transaction has decrypted last. The pushes of a broadcast have the same alert,
/// and are read one after the other. Parsing the alert's JSON takes longer than the rest of the
/// reading.
final class OpenedAlerts {
    private var last: (notification: Int64, alert: Result<PushAlert, VaultError>)?

    func alert(of notification: Int64, _ open: () throws(VaultError) -> PushAlert) -> Result<PushAlert, VaultError> {
        if let last, last.notification == notification { return last.alert }
        let alert = Result { () throws(VaultError) in try open() }
        self.last = (notification, alert)
        return alert
    }
}
