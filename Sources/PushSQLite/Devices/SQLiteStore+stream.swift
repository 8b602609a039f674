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
        let woken: Int? = try await self.writer.write { [pusher] db in
            let numbers = try devices.compactMap { try Self.number(of: $0, db) }
            if let last {
                let (json, time) = (numbers.json, now.milliseconds)
                let lost = try db.all(SQL(sql: Self.sendAgain), json, user, time, last.rawValue) { try $0.text() }
                for lane in lost { pusher.notes.count(.enqueued, lane: lane) }
                if lost.count == WakePace.page { return nil }
            }
            return try Self.wake(numbers, ofUser: user, db, now: now)
        }
        if let woken { return woken }
        return try await self.makeDue(for: devices, ofUser: user, after: last, now: now)
    }

    /// Makes a page of the pushes that wait for these devices due at the pace of `WakePace`,
    /// including parked ones; returns their number.
    static func wake(_ devices: [Int64], ofUser user: Int64, _ db: Database, now: Date) throws -> Int {
        let queued = try db.number(SQL(sql: Self.countOfUser), user) ?? 0
        let start = WakePace.start(queued: [user: queued], now: now)
        let waiting: [WakePace.WaitingPush] = try db.all(
            SQL(sql: Self.waiting),
            devices.json,
            now.milliseconds,
            start
        ) { try (DuePush($0), user, $0.integer("due_at"), $0.integer("sequence")) }
        var due = WakePace.dueTimes(of: waiting, queued: [user: queued], now: now)
        let limit = WakePace.page - due.count
        var seen: Int64? = 0
        let parked: [WakePace.WaitingPush] = try db.all(SQL(sql: Self.parked), devices.json, user, limit) { row in
            // The next search also finds the last change, whose pushes may not all be found here.
            seen = try row.integer("change") - 1
            return try (DuePush(row), user, Date.distantFuture.milliseconds, row.integer("sequence"))
        }
        if parked.count < limit { seen = nil }
        try db.run(SQL(sql: Self.recordSeen), devices.json, user, seen)
        due += WakePace.dueTimes(of: parked, queued: [user: queued + Int64(parked.count)], now: now)
        for (key, dueAt) in due { try db.run(SQL(sql: Self.makePushDue), dueAt, key.notification, key.device) }
        return due.count
    }

    /// Gives a due time to all parked pushes to a device, so that searches by device find them.
    static let unpark = """
        update push set due_at = ?2
        where device = ?1 and due_at is null and settled_at is null and notification_id in (
            select notification_id from recipient indexed by recipient_by_user
            where user_id = (select user_id from device where number = ?1)
                and change > coalesce((select change from parking where device = ?1), 0))
        """

    static func number(of id: RegistrationID, _ db: Database) throws -> Int64? {
        try db.number("select number from device where id = \(id.description)")
    }

    static let isWaiting =
        "select 1 from push where device = ?1 and settled_at is null and state = 'queued' and due_at > ?2 limit 1"

    /// Selects the pushes that wait for devices, except parked ones. The due time of a push that
    /// has found its device away is its expiry.
    static let waiting = """
        select notification_id, device, due_at,
            (select sequence from notification where id = notification_id) as sequence from push
        where device in (select value from json_each(?1)) and settled_at is null and state = 'queued' and due_at > ?2
            and (due_at > ?3 or reason = '\(PushReason.away)')
        """

    /// Selects parked pushes, the oldest first. The cost grows with the number of notifications
    /// for the user since the first of the devices last connected.
    static let parked = """
        select d.notification_id, d.device, r.change,
            (select sequence from notification where id = d.notification_id) as sequence
        from recipient r indexed by recipient_by_user
        cross join push d on d.notification_id = r.notification_id
            and d.device in (select value from json_each(?1)) and d.due_at is null and d.settled_at is null
        where r.user_id = ?2 and r.change > (
            select min(coalesce(change, 0)) from json_each(?1) left join parking on device = value)
        order by r.change limit ?3
        """

    /// Stores the last change up to which no push to the devices is parked: `?3`, or the newest.
    private static let recordSeen = """
        insert into parking (device, change)
        select value, coalesce(?3, (select max(change) from recipient where user_id = ?2), 0)
        from json_each(?1) where true
        on conflict (device) do update set change = excluded.change where change < excluded.change
        """

    /// Counts all queued pushes to the user's devices, except parked ones.
    static let countOfUser = """
        select count(*) from push
        where device in (select number from device where user_id = ?)
            and settled_at is null and due_at is not null and state = 'queued'
        """

    private static let makePushDue =
        "update push set due_at = ?, reason = null where notification_id = ? and device = ?"

    /// Enqueues a page of pushes again that a stream has accepted since one of the devices
    /// accepted the notification `?4`, and whose notifications the user has not fetched. Reads no
    /// push that was accepted before that time.
    static let sendAgain = """
        update push set state = 'queued', due_at = \(Date.distantFuture.milliseconds),
            settled_at = null, provider_id = null where (notification_id, device) in (
            select x.notification_id, x.device from push x indexed by delivery_by_stream
            cross join recipient r on r.notification_id = x.notification_id and r.user_id = ?2
            cross join notification n on n.id = x.notification_id
            where x.device in (select value from json_each(?1)) and x.settled_at >= (
                    select min(settled_at) from push
                    where notification_id = ?4 and device in (select value from json_each(?1)) and state = 'accepted')
                and x.provider_id = 'stream' and x.is_withdrawn = 0 and x.notification_id <> ?4
                and r.fetched_at is null and r.dismissed_at is null and n.expires_at > ?3 and n.payload is not null
            limit \(WakePace.page))
        returning lane
        """
}
