package import Foundation
internal import PostgreSQL
package import PushCore
internal import PushStore

/// Enqueues looks: pushes that show nothing and tell a device to sync. The store in SQLite
/// enqueues them in the same way.
///
/// The rows of the devices are locked first. If two servers have a change for the same device,
/// only one look is then enqueued for it.
extension PostgreSQLStore {
    package func enqueueLooks(
        _ orders: [LookOrder],
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Bool {
        if self.options.looks.isEmpty || orders.isEmpty { return false }
        let orders = Array(Dictionary(orders.map { ($0.subject, $0) }) { $0.merged(with: $1) }.values)
        return try await self.write { tx in try await self.enqueueLooks(orders, makeID: makeID, tx, now: now) > 0 }
    }

    /// The apps whose devices get looks (pushes that tell a device to sync).
    var appsWithLooks: Set<AppName> { Set(self.options.looks.keys.map { Lane(stored: $0).app }) }

    package func enqueueRecallLooks(
        page: Int,
        makeID: @escaping @Sendable () -> NotificationID?,
        now: Date
    ) async throws -> Int? {
        if self.options.looks.isEmpty { return nil }
        // Another server may have apps that this server lacks.
        let apps = self.appsWithLooks.map(\.description)
        let found = try await self.write { tx -> (count: Int, isAhead: Bool)? in
            guard let recall = try await tx.query(Self.recallWithoutLooks, apps).first else { return nil }
            let (id, app) = (try recall.integer("id"), AppName(stored: try recall.optionalText("app")))
            let (last, marked) = (try recall.integer("look_user_id"), try recall.optionalInteger("marked"))
            let rows = try await tx.query(Self.recallRecipients, id, last, marked ?? .max, page)
            let recipients = try rows.map { (user: try $0.integer("user_id"), isOpen: try $0.flag("is_open")) }
            let orders = recipients.filter(\.isOpen).map { LookOrder(user: $0.user, app: app, isUrgent: true) }
            let count = try await self.enqueueLooks(orders, makeID: makeID, tx, now: now)
            let next = recipients.count < page ? marked : recipients.last?.user
            _ = try await tx.query("update notification set look_user_id = $2 where id = $1", id, next)
            return (count, isAhead: recipients.count < page && marked != nil)
        }
        if let found, found.isAhead, try await !self.continueRecalls() {
            // Another transaction has locked the recall, perhaps of a server that is frozen. So
            // `LookService` pauses before it tries again.
            self.options.lookBook.signal.set()
            if found.count == 0 { return nil }
        }
        return found?.count
    }

    package func cancelLooks(of syncs: [LookSync], now: Date) async throws {
        if self.options.looks.isEmpty || syncs.isEmpty { return }
        let (users, sessions) = (syncs.map(\.subject.user), syncs.map(\.session))
        let rows = try await self.read(Self.syncedLooks, users, sessions, syncs.map(\.change))
        let found = try rows.compactMap { row -> DuePush? in
            syncs[Int(try row.integer("place")) - 1].subject.concerns(try row.text("lane")) ? try DuePush(row) : nil
        }
        if found.isEmpty { return }
        try await self.write { tx in try await tx.cancel(found, reason: PushReason.fetched, now: now) }
    }

    package func deleteLooks(in lane: Lane, now: Date) async throws -> Bool {
        try await self.write { tx in
            let pushes = try await tx.query(Self.looksInLane, lane.description).map(DuePush.init)
            try await Self.delete(pushes, tx, now: now)
            return !pushes.isEmpty
        }
    }

    // MARK: - Private

    /// Enqueues the looks (pushes that tell a device to sync) of these orders, which must have
    /// different subjects. Returns their number.
    private func enqueueLooks(
        _ orders: [LookOrder],
        makeID: () -> NotificationID?,
        _ tx: WriteTransaction,
        now: Date
    ) async throws -> Int {
        let intervals = self.options.looks
        let (users, sessions) = (orders.map(\.user), orders.map(\.session) as [String?])
        let rows = try await tx.query(Self.lookDevices, users, sessions, intervals.keys.sorted())
        let devices = try rows.map { try LookDevice($0, of: orders) }.filter { $0.order.subject.concerns($0.lane) }
        if devices.isEmpty { return 0 }
        let waitingRows = try await tx.query(Self.waitingLooks, keys: devices.compactMap(\.lastPush))
        let waiting = try WriteTransaction.numbers(waitingRows, "due_at", by: "device")
        let streaming = devices.filter { tx.streamLanes.contains($0.lane) }.map(\.number)
        let holders = try await tx.holders(of: streaming)
        let away = Set(streaming).subtracting(holders.keys)
        let looks = devices.compactMap { device -> Look? in
            guard let interval = intervals[device.lane], !away.contains(device.number) else { return nil }
            let (last, waitsUntil) = (device.dueAt, waiting[device.number].map(Date.init(milliseconds:)))
            let due = device.order.nextLook(every: interval, last: last, waitsUntil: waitsUntil, now: now)
            return due.map { (device, $0) }
        }
        if looks.isEmpty { return 0 }
        try await Self.delete(looks.compactMap(\.device.lastPush), tx, now: now)
        let expiry = now + self.options.lookLifetime.timeInterval
        try await Self.insert(looks, until: expiry, makeID: makeID, tx, now: now)
        return looks.count
    }

    /// A device, with the notification of its last look (a push that only tells it to sync).
    private struct LookDevice: Sendable {
        let number: Int64
        let order: LookOrder
        let lane: String
        let last: Int64?
        let dueAt: Date?

        init(_ row: Row, of orders: [LookOrder]) throws {
            (self.number, self.order) = (try row.integer("number"), orders[Int(try row.integer("place")) - 1])
            (self.lane, self.last) = (try row.text("lane"), try row.optionalInteger("look_id"))
            self.dueAt = try row.optionalDate("look_at")
        }

        var lastPush: DuePush? { self.last.map { DuePush(notification: $0, device: self.number) } }
    }

    private typealias Look = (device: LookDevice, dueAt: Date)

    /// Deletes looks (pushes that tell a device to sync) that wait or have ended. A look that is
    /// being sent expires now, so that the next cleanup deletes it. Otherwise the looks of a
    /// stream that nobody reads would fill the database.
    private static func delete(_ pushes: [DuePush], _ tx: WriteTransaction, now: Date) async throws {
        if pushes.isEmpty { return }
        try await tx.cancel(pushes, reason: PushReason.replacedLook, now: now)
        try await tx.query(Self.deleteEndedLooks, keys: pushes)
        let looks = Set(pushes.map(\.notification)).sorted()
        _ = try await tx.query(Self.deleteEmptyLooks, looks)
        _ = try await tx.query(Self.expireLooks, looks, now.milliseconds)
    }

    /// Inserts looks (pushes that only tell a device to sync), with one notification for all looks
    /// of an order. This notification has no sender, so it counts towards nobody's storage.
    private static func insert(
        _ looks: [Look],
        until expiry: Date,
        makeID: () -> NotificationID?,
        _ tx: WriteTransaction,
        now: Date
    ) async throws {
        var left = Set(looks.map(\.device.order))
        var ids: [LookOrder: Int64] = [:]
        while !left.isEmpty {
            var drawn: [Int64: LookOrder] = [:]
            for order in left {
                if let id = makeID() { drawn[id.rawValue] = order }
            }
            let new = drawn.sorted { $0.key < $1.key }
            let rows = try await tx.query(
                Self.insertLooks,
                new.map(\.key),
                new.map { ($0.value.isUrgent ? Push.Priority.high : .normal).rawValue },
                new.map { _ in Int64.random(in: .min ... .max) },
                now.milliseconds,
                expiry.milliseconds,
                new.map(\.value.subject.app.stored) as [String?]
            )
            for id in try rows.map({ try $0.integer() }) { if let order = drawn[id] { ids[order] = id } }
            left = left.filter { ids[$0] == nil }
        }
        let rows = looks.compactMap { look in ids[look.device.order].map { (id: $0, look: look) } }
        let lanes = rows.map { Lane(stored: $0.look.device.lane).ofLooks.description }
        _ = try await tx.query(
            Self.insertPushes,
            rows.map(\.id),
            rows.map(\.look.device.number),
            rows.map(\.look.device.order.user),
            lanes,
            rows.map(\.look.dueAt.milliseconds)
        )
        for lane in lanes { tx.count(.enqueued, lane: lane) }
    }

    /// Selects and locks the recall of these apps whose looks (pushes that tell a device to sync)
    /// come next, except one that another server has locked. A new recall comes before one of a
    /// broadcast that has begun. `marked` is the last recipient with a change number for the
    /// recall; `null` if all have one. A device that syncs before its user has this number
    /// does not find the recall.
    static let recallWithoutLooks = """
        select n.id, n.app, n.look_user_id, (select l.user_id from recall l where l.notification_id = n.id) as marked
        from notification n where n.look_user_id is not null and coalesce(n.app, '\(AppName.usual)') = any($1::text[])
        order by n.look_user_id limit 1 for no key update of n skip locked
        """

    private static let recallRecipients = """
        select user_id, dismissed_at is null as is_open from recipient
        where \(RecipientKey.byNotification.rows(of: "$1", after: "$2")) and user_id <= $3
        order by \(RecipientKey.byNotification.order) limit $4
        """

    static let looksInLane = """
        select notification_id, device from push where lane = $1 and due_at is not null and owner is null
        limit \(LookOrder.deletionPage)
        """

    static let lookDevices = """
        select v.number, o.place, v.lane, v.look_id, v.look_at
        from unnest($1::int8[], $2::text[]) with ordinality as o (user_id, session, place)
        join device v on v.user_id = o.user_id
        where v.lane = any($3::text[]) and v.claims_for is null
            and (o.session is null or v.session is null or v.session <> o.session)
        order by v.number for no key update of v
        """

    /// Selects the devices whose last look (push that tells them to sync) still waits, with the
    /// time when it is due. Because of the lock, no other server leases that look before this
    /// transaction's changes are visible.
    static let waitingLooks = """
        select p.device, p.due_at from unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        join push p on \(DuePush.equal("p", "k"))
        where p.owner is null and p.due_at is not null
        order by p.notification_id, p.device for share of p
        """

    static let syncedLooks = """
        select p.notification_id, p.device, s.place, v.lane
        from unnest($1::int8[], $2::text[], $3::int8[]) with ordinality as s (user_id, session, change, place)
        join device v on v.user_id = s.user_id and v.session = s.session
        join push p on p.notification_id = v.look_id and p.device = v.number
        where p.owner is null and p.due_at is not null
            and not exists (select 1 from recipient r where r.user_id = s.user_id and r.change > s.change)
        """

    static let deleteEndedLooks = """
        delete from push_end p using unnest($1::int8[], $2::int8[]) as k (notification_id, device)
        where \(DuePush.equal("p", "k"))
        """

    static let deleteEmptyLooks = """
        delete from notification n where n.id = any($1::int8[])
            and not exists (select 1 from push p where p.notification_id = n.id)
            and not exists (select 1 from push_end p where p.notification_id = n.id)
        """

    static let expireLooks = """
        update notification n set expires_at = $2 where n.id = any($1::int8[]) and n.expires_at > $2
            and not exists (select 1 from push p where p.notification_id = n.id and p.owner is null)
        """

    /// Inserts the notifications of looks (pushes that only tell a device to sync). The place in
    /// the order of notifications is computed from the time, as for a post.
    static let insertLooks = """
        insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority, sequence, seed,
            created_at, expires_at)
        select t.id, 0, t.app, false, false, t.priority, (extract(epoch from clock_timestamp()) * 1000000)::bigint << 8,
            t.seed, $4, $5
        from unnest($1::int8[], $2::text[], $3::int8[], $6::text[]) as t (id, priority, seed, app)
        on conflict (id) do nothing returning id
        """

    static let insertPushes = """
        with pushes as (
            insert into push (notification_id, device, user_id, lane, is_bulk, due_at)
            select t.id, t.device, t.user_id, t.lane, false, t.due_at
            from unnest($1::int8[], $2::int8[], $3::int8[], $4::text[], $5::int8[])
                as t (id, device, user_id, lane, due_at))
        update device v set look_id = t.id, look_at = t.due_at
        from unnest($1::int8[], $2::int8[], $5::int8[]) as t (id, device, due_at) where v.number = t.device
        """
}
