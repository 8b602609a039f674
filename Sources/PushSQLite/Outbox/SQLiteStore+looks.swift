package import Foundation
package import PushCore
internal import PushStore
internal import SQLite

/// Enqueues looks: pushes that show nothing and tell a device to sync. A look is enqueued when
/// another device of the same user has changed something.
///
/// A look is the push of a notification that has no payload and no recipients. Each lane (a
/// provider's queue) has a second lane for looks. The device's row names its last look. When the
/// next look is enqueued, the rows of the last one are deleted. So a device has only one look at a
/// time, however often its user changes something.
extension SQLiteStore {
    package func enqueueLooks(
        _ orders: [LookOrder],
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Bool {
        let pusher = self.pusher
        if pusher.looks.isEmpty || orders.isEmpty { return false }
        // There may be many looks (pushes that tell a device to sync) that are not urgent, for
        // example when a broadcast expires. These looks must not delay posts.
        let lane: WriterLane = orders.contains(where: \.isUrgent) ? .delivery : .housekeeping
        return try await self.writer.write(lane) { db in
            var count = 0
            for order in orders { count += try pusher.enqueue(order, makeID: makeID, db, now: now) }
            return count > 0
        }
    }

    package func enqueueRecallLooks(
        page: Int,
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Int? {
        let pusher = self.pusher
        if pusher.looks.isEmpty { return nil }
        return try await self.writer.write(.delivery) { db in
            let recall = try db.first(SQL(sql: Self.recallWithoutLooks)) {
                try (id: $0.integer("id"), app: $0.optionalText("app"), last: $0.integer("look_user_id"))
            }
            guard let recall else { return nil }
            let recipients = try db.all(
                """
                select user_id, dismissed_at from recipient
                where notification_id = \(recall.id) and user_id > \(recall.last) order by user_id limit \(page)
                """
            ) { try (user: $0.integer("user_id"), hasDismissed: $0.optionalDate("dismissed_at") != nil) }
            var count = 0
            for (user, hasDismissed) in recipients where !hasDismissed {
                let order = LookOrder(user: user, app: AppName(stored: recall.app), isUrgent: true)
                count += try pusher.enqueue(order, makeID: makeID, db, now: now)
            }
            let last = recipients.count < page ? nil : recipients.last?.user
            try db.run("update notification set look_user_id = \(last) where id = \(recall.id)")
            return count
        }
    }

    package func cancelLooks(of syncs: [LookSync], now: Date) async throws {
        if self.pusher.looks.isEmpty || syncs.isEmpty { return }
        try await self.writer.write(.housekeeping) { db in
            for sync in syncs {
                let waiting = try db.all(
                    """
                    select d.notification_id, d.device, v.lane from device v indexed by device_by_user
                    cross join push d on d.notification_id = v.look_id and d.device = v.number
                    where v.user_id = \(sync.subject.user) and v.session = \(sync.session) and d.state = 'queued'
                    """
                ) { try (push: DuePush($0), lane: $0.text("lane")) }.filter { sync.subject.concerns($0.lane) }
                guard !waiting.isEmpty, try !Self.hasNewerChange(than: sync, db) else { continue }
                for (push, _) in waiting { try Self.cancel(push, reason: PushReason.fetched, db, now: now) }
            }
        }
    }

    package func deleteLooks(in lane: Lane, now: Date) async throws -> Bool {
        try await self.writer.write(.housekeeping) { [pusher] db in
            let pushes = try db.all(
                """
                select notification_id, device from push indexed by delivery_by_due
                where lane = \(lane.description) and state = 'queued' and due_at is not null
                limit \(LookOrder.deletionPage)
                """
            ) { try DuePush($0) }
            for push in pushes { try pusher.delete(push, db, now: now) }
            return !pushes.isEmpty
        }
    }

    // MARK: - Private

    /// Selects the recall whose looks (pushes that tell a device to sync) come next. A new recall
    /// comes before one of a broadcast that has begun.
    static let recallWithoutLooks = """
        select id, app, look_user_id from notification indexed by notification_by_look
        where look_user_id is not null order by look_user_id limit 1
        """

    private static func hasNewerChange(than sync: LookSync, _ db: Database) throws -> Bool {
        try db.exists(
            """
            select 1 from recipient where user_id = \(sync.subject.user) and change > \(sync.change)
            union all
            select 1 from notification n cross join recipient r on r.notification_id = n.id and r.user_id = \(sync.subject.user)
            where n.recall_change > \(sync.change)
            limit 1
            """
        )
    }
}

extension Pusher {
    /// Enqueues the looks (pushes that tell a device to sync) of one order. Returns their number.
    func enqueue(_ order: LookOrder, makeID: () -> NotificationID?, _ db: Database, now: Date) throws -> Int {
        let devices = try db.all(
            """
            select v.number, v.id, v.lane, v.look_id, v.look_at, (
                select d.due_at from push d
                where d.notification_id = v.look_id and d.device = v.number and d.state = 'queued') as due_at
            from device v indexed by device_by_user
            where v.user_id = \(order.user) and v.lane is not null and v.claims_for is null
                and (\(order.session) is null or v.session is null or v.session <> \(order.session))
            """
        ) { try LookDevice($0) }
        var id: Int64?
        var count = 0
        for device in devices {
            guard order.subject.concerns(device.lane), let interval = self.looks[device.lane],
                !self.isAway(device.lane, device.id)
            else { continue }
            let last = device.last == nil ? nil : device.dueAt
            guard let due = order.nextLook(every: interval, last: last, waitsUntil: device.waitsUntil, now: now)
            else { continue }
            let number = try id ?? self.insert(order, makeID: makeID, db, now: now)
            id = number
            if let last = device.last {
                try self.delete(DuePush(notification: last, device: device.number), db, now: now)
            }
            try self.insert(number, for: device, of: order.user, dueAt: due, db)
            count += 1
        }
        return count
    }

    /// Inserts the notification of a look (a push that tells a device to sync). This notification
    /// has no sender, so it counts towards nobody's storage.
    private func insert(_ order: LookOrder, makeID: () -> NotificationID?, _ db: Database, now: Date) throws -> Int64 {
        while true {
            guard let id = makeID() else { continue }
            let inserted = try db.run(
                """
                insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority, sequence, seed,
                    created_at, expires_at)
                values (\(id.rawValue), 0, \(order.subject.app.stored), 0, 0, \((order.isUrgent ? Push.Priority.high : .normal).rawValue),
                    \(self.changes.next()), \(Int64.random(in: .min ... .max)), \(now.milliseconds),
                    \((now + self.lookLifetime).milliseconds)) on conflict (id) do nothing
                """
            )
            if inserted == 1 { return id.rawValue }
        }
    }

    private func insert(_ look: Int64, for device: LookDevice, of user: Int64, dueAt: Date, _ db: Database) throws {
        let lane = Lane(stored: device.lane).ofLooks.description
        try db.run(
            """
            insert into push (notification_id, device, user_id, lane, is_bulk, state, due_at)
            values (\(look), \(device.number), \(user), \(lane), 0, 'queued', \(dueAt.milliseconds))
            """
        )
        try db.run(
            "update device set look_id = \(look), look_at = \(dueAt.milliseconds) where number = \(device.number)"
        )
        self.notes.count(.enqueued, lane: lane)
    }

    /// Deletes a look (a push that tells a device to sync) that waits or has ended. A look that is
    /// being sent expires now, so that the next cleanup deletes it. Otherwise, if a client never
    /// read its event stream, the looks in this stream would fill the database.
    fileprivate func delete(_ push: DuePush, _ db: Database, now: Date) throws {
        try SQLiteStore.cancel(push, reason: PushReason.replacedLook, db, now: now)
        try db.run(
            """
            delete from push where notification_id = \(push.notification) and device = \(push.device)
                and settled_at is not null
            """
        )
        try db.run(
            """
            delete from notification where id = \(push.notification)
                and not exists (select 1 from push where notification_id = \(push.notification))
            """
        )
        try db.run(
            """
            update notification set expires_at = \(now.milliseconds)
            where id = \(push.notification) and expires_at > \(now.milliseconds)
                and not exists (
                    select 1 from push where notification_id = \(push.notification) and state = 'queued')
            """
        )
    }
}

/// A device, with the notification of its last look (a push that only tells it to sync).
private struct LookDevice {
    let number: Int64
    let id: String
    let lane: String
    let last: Int64?
    let dueAt: Date?
    /// When the push that last told the device to sync is due; `nil` if it does not wait.
    let waitsUntil: Date?

    init(_ row: borrowing DirectRow) throws {
        self.number = try row.integer("number")
        self.id = try row.text("id")
        self.lane = try row.text("lane")
        self.last = try row.optionalInteger("look_id")
        self.dueAt = try row.optionalDate("look_at")
        self.waitsUntil = try row.optionalDate("due_at")
    }
}
