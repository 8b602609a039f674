package import Foundation
package import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    package func makeDue(
        for devices: [RegistrationID],
        ofUser user: Int64,
        after last: NotificationID?,
        now: Date
    ) async throws -> Int {
        try await self.writer.write { [pusher] db in
            let numbers = Set(try devices.compactMap { try Self.number(of: $0, db) })
            for number in numbers { try Self.unpark(device: number, db, dueAt: .distantFuture) }
            if let last, let since = try Self.accepted(last, by: numbers, db) {
                for number in numbers {
                    let values: [any Bindable] = [number, since, user, now.milliseconds, last.rawValue]
                    let lost = try db.all(SQL(sql: Self.perhapsLost, arguments: values)) {
                        (notification: $0.integer(0), lane: $0.text(1))
                    }
                    for (notification, lane) in lost {
                        try db.run(
                            """
                            update delivery set state = 'queued', due_at = \(Date.distantFuture.milliseconds),
                                settled_at = null, provider_id = null
                            where notification_id = \(notification) and device = \(number)
                            """
                        )
                        pusher.notes.count(.enqueued, lane: lane)
                    }
                }
            }
            return try Self.wake(numbers, ofUser: user, db, now: now)
        }
    }

    /// Gives the waiting pushes to these devices earlier due times, at the pace of `WakePace`.
    /// Returns their number.
    static func wake(_ devices: Set<Int64>, ofUser user: Int64, _ db: Database, now: Date) throws -> Int {
        let queued = [user: try db.first(prepared: Self.countOfUser, user) { $0.integer(0) } ?? 0]
        let start = WakePace.start(queued: queued, now: now)
        let waiting: [WakePace.WaitingPush] = try devices.flatMap { device in
            try db.all(prepared: Self.waiting, device, now.milliseconds, start) {
                (DuePush(notification: $0.integer(0), device: device), user, $0.integer(1), $0.integer(2))
            }
        }
        let due = WakePace.dueTimes(of: waiting, queued: queued, now: now)
        for (key, dueAt) in due { try db.run(prepared: Self.makePushDue, dueAt, key.notification, key.device) }
        return due.count
    }

    /// Gives a due time to the pushes that have waited for the device to connect. From then on,
    /// searches by device and by time find these pushes.
    ///
    /// The cost grows with the number of notifications for the device's user since the device last
    /// connected.
    static func unpark(device: Int64, _ db: Database, dueAt: Date) throws {
        try db.run(prepared: Self.unpark, device, dueAt.milliseconds)
        try db.run(
            """
            insert into parking (device, change)
            select \(device), max(change) from recipient
            where user_id = (select user_id from device where number = \(device)) having max(change) is not null
            on conflict (device) do update set change = excluded.change where change < excluded.change
            """
        )
    }

    // MARK: - Private

    static let unpark = """
        update delivery set due_at = ?2
        where device = ?1 and due_at is null and settled_at is null and notification_id in (
            select notification_id from recipient indexed by recipient_by_user
            where user_id = (select user_id from device where number = ?1)
                and change > coalesce((select change from parking where device = ?1), 0))
        """

    static func number(of id: RegistrationID, _ db: Database) throws -> Int64? {
        try db.first("select number from device where id = \(id.description)") { $0.integer(0) }
    }

    /// The earliest time at which one of these devices accepted the notification, in milliseconds
    /// since 1970.
    private static func accepted(_ id: NotificationID, by devices: Set<Int64>, _ db: Database) throws -> Int64? {
        try devices.compactMap { device in
            try db.first(
                """
                select settled_at from delivery
                where notification_id = \(id.rawValue) and device = \(device) and state = 'accepted'
                """
            ) { $0.integer(0) }
        }.min()
    }

    static let isWaiting =
        "select 1 from delivery where device = ?1 and settled_at is null and state = 'queued' and due_at > ?2 limit 1"

    /// Selects the pushes that wait for the device. The due time of a push that has found its
    /// device away is its expiry.
    static let waiting = """
        select notification_id, due_at, (select sequence from notification where id = d.notification_id) from delivery d
        where device = ?1 and settled_at is null and state = 'queued' and due_at > ?2
            and (due_at > ?3 or reason = '\(PushReason.away)')
        """

    /// Counts all queued pushes to the user's devices, except parked ones.
    static let countOfUser = """
        select count(*) from delivery
        where device in (select number from device where user_id = ?)
            and settled_at is null and due_at is not null and state = 'queued'
        """

    private static let makePushDue =
        "update delivery set due_at = ?, reason = null where notification_id = ? and device = ?"

    /// Selects the pushes that a stream has accepted since a time, and whose notifications the
    /// user has not fetched. Reads no push that was accepted before that time.
    static let perhapsLost = """
        select x.notification_id, x.lane from delivery x indexed by delivery_by_stream
        cross join recipient r on r.notification_id = x.notification_id and r.user_id = ?3
        cross join notification n on n.id = x.notification_id
        where x.device = ?1 and x.settled_at >= ?2 and x.provider_id = 'stream' and x.is_withdrawn = 0
            and x.notification_id <> ?5 and r.fetched_at is null and r.dismissed_at is null
            and n.expires_at > ?4 and n.payload is not null
        """
}
