internal import Foundation
internal import GRDB
internal import PushCore

/// A row of the outbox that is due, with what is needed to decide about it.
struct DueDelivery {
    enum Decision {
        case send(Push)
        case wait(until: Date)
        case settle(TallyState, reason: String?)
    }

    let notification: Int64
    let device: Int64
    let user: Int64
    let attempts: Int
    private let isWithdrawn: Bool
    private let withdrawal: String?
    private let handle: Result<String, VaultError>?
    private let isRetired: Bool
    private let isRecalled: Bool
    private let seed: Int64
    private let createdAt: Int64
    private let expiresAt: Int64
    private let priority: String
    private let collapseID: String?
    /// When a provider last accepted a push to the device, and whether it is the only push to it that is not settled.
    private let acceptedAt: Int64?
    private let isAlone: Bool

    /// The oldest of a queue that are due; of those whose device has left the lane none, which it moves to the device's.
    static func fetch(_ db: Database, _ claim: Store.Claim, _ sealing: Sealing, now: Date) throws -> [DueDelivery] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: """
                    select d.notification_id, d.device, d.user_id, d.attempts, d.is_withdrawn, d.reason, v.handle,
                        v.retired_at is not null, n.seed, n.created_at, n.expires_at, n.priority, n.collapse_id,
                        n.recalled_at is not null, v.lane,
                        (select accepted_at from device_push where device = d.device and ?5),
                        (select count(*) from (
                            select 1 from delivery x where x.device = d.device and x.settled_at is null and ?5 limit 2))
                    from delivery d join device v on v.number = d.device join notification n on n.id = d.notification_id
                    where d.lane = ?1 and d.is_bulk = ?2 and d.state = 'queued' and d.due_at <= ?3
                    order by d.due_at limit ?4
                    """
            ),
            arguments: [
                claim.lane.description, claim.queue.rawValue, now.milliseconds, claim.limit, claim.interval != nil,
            ]
        )
        var due: [DueDelivery] = []
        var strays: [(notification: Int64, device: Int64, lane: String)] = []
        while let row = try rows.next() {
            let device: Int64 = try row[1]
            // A handle of another provider must never be shown to this one.
            if let lane = try row[14] as String?, lane != claim.lane.description {
                strays.append((try row[0], device, lane))
                continue
            }
            due.append(
                try DueDelivery(
                    notification: row[0],
                    device: device,
                    user: row[2],
                    attempts: row[3],
                    isWithdrawn: row[4],
                    withdrawal: row[5],
                    handle: (row[6] as Data?).map { sealed in
                        Result { () throws(VaultError) in
                            String(decoding: try sealing.vault.open(sealed, in: .handle(device)), as: UTF8.self)
                        }
                    },
                    isRetired: row[7],
                    isRecalled: row[13],
                    seed: row[8],
                    createdAt: row[9],
                    expiresAt: row[10],
                    priority: row[11],
                    collapseID: row[12],
                    acceptedAt: row[15],
                    isAlone: row[16] == 1
                )
            )
        }
        var tally = TallyCount()
        for (notification, device, lane) in strays {
            try Store.move(
                db,
                notification: notification,
                device: device,
                from: claim.lane.description,
                to: lane,
                now: now,
                &tally
            )
        }
        try tally.write(db)
        return due
    }

    /// What becomes of it now.
    func decision(_ db: Database, interval: Duration?, now: Date) throws -> Decision {
        guard self.expiresAt > now.milliseconds else { return .settle(.expired, reason: nil) }
        if self.isRecalled { return .settle(.cancelled, reason: Store.recalled) }
        if self.isWithdrawn { return .settle(.cancelled, reason: self.withdrawal) }
        // One damaged row must not stop the others.
        if case .failure(let error) = self.handle { return .settle(.failed, reason: "\(error)") }
        guard !self.isRetired, let push = self.push else {
            return .settle(.cancelled, reason: "the device is gone")
        }
        guard let interval else { return .send(push) }
        let rested = self.acceptedAt.map { Date(milliseconds: $0) + interval.timeInterval <= now } ?? true
        if rested, self.isAlone { return .send(push) }
        if try self.isOutdated(db) { return .settle(.cancelled, reason: "a newer one took its place") }
        let rest = try self.lastPush(db, now: now).map { $0 + interval.timeInterval }
        return rest.map { $0 > now ? .wait(until: $0) : .send(push) } ?? .send(push)
    }

    func postpone(_ db: Database, until date: Date, reason: String) throws {
        try db.cachedStatement(
            sql: "update delivery set state = 'queued', due_at = ?, reason = ? where notification_id = ? and device = ?"
        ).execute(arguments: [date.milliseconds, reason, self.notification, self.device])
    }

    func settle(_ db: Database, as state: TallyState, reason: String?, now: Date) throws {
        try db.cachedStatement(
            sql: """
                update delivery set state = ?, settled_at = ?, reason = ? where notification_id = ? and device = ?
                """
        ).execute(arguments: [state.rawValue, now.milliseconds, reason, self.notification, self.device])
    }

    // MARK: - Private

    private var push: Push? {
        guard
            let id = NotificationID(rawValue: self.notification), case .success(let handle) = self.handle,
            let priority = Push.Priority(rawValue: self.priority)
        else { return nil }
        return Push(
            notification: id,
            handle: handle,
            attemptID: Push.attemptID(seed: self.seed, device: self.device),
            expiresAt: Date(milliseconds: self.expiresAt),
            priority: priority,
            sharedCollapseID: self.collapseID
        )
    }

    /// Whether a newer push waits for the same device.
    private func isOutdated(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(
                sql: """
                    select exists (
                        select 1 from delivery x join notification m on m.id = x.notification_id
                        where x.device = ?1 and x.settled_at is null and x.is_withdrawn = 0 and x.notification_id <> ?2
                            and (m.created_at, m.id) > (?3, ?2))
                    """
            ),
            arguments: [self.device, self.notification, self.createdAt]
        ) ?? false
    }

    /// When the device was last sent something; now, if something is on its way.
    private func lastPush(_ db: Database, now: Date) throws -> Date? {
        try Int64.fetchOne(
            db.cachedStatement(
                sql: """
                    select max(at) from (
                        select accepted_at as at from device_push where device = ?1
                        union all
                        select ?2 from delivery where device = ?1 and settled_at is null and state = 'sending'
                            and notification_id <> ?3)
                    """
            ),
            arguments: [self.device, now.milliseconds, self.notification]
        ).map(Date.init(milliseconds:))
    }
}
