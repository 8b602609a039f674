internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The server that has a device's event stream. This server sends the pushes that go to the
/// stream.
///
/// A transaction that changes rows of streams first locks the change counter of the device's user.
/// Some pushes must wait if there is no stream. A transaction with such a push also locks this
/// counter, before it searches for the stream. So the second of two such transactions sees the
/// changes of the first.
enum StreamHolder {
    /// The SQL array of the servers that are not fenced (whose pushes no other server may take
    /// over); only their rows of `stream` count.
    static let activeServers = "(array(select number from node where not is_fenced))"

    /// The SQL expression for the server that has the stream of the device of the push `p`; null
    /// if no server has one.
    static let ofPush = holder(of: "p.device")

    /// The SQL expression for the server with the newest stream of a device. A client that has
    /// connected to another server may have left a dead stream at the old server.
    static func holder(of device: String) -> String {
        """
        (select s.node from stream s where s.device = \(device) and s.node = any\(Self.activeServers)
            order by s.since desc, s.node desc limit 1)
        """
    }
}

extension WriteTransaction {
    /// Locks the users' counters of changes, in ascending order of the ids, until the transaction
    /// ends.
    func lockCounters(of users: some Sequence<Int64>) async throws {
        let users = Set(users).sorted()
        if users.isEmpty { return }
        _ = try await self.query(Self.counters, users)
    }

    /// For each device, the server that has its stream; devices without a stream are left out.
    func holders(of devices: [Int64]) async throws -> [Int64: Int64] {
        if devices.isEmpty { return [:] }
        return try Self.numbers(await self.query(Self.holders, devices), "node", by: "device")
    }

    static let counters = """
        select change from user_change where user_id = any($1::int8[]) order by user_id for no key update
        """

    static let holders = """
        select d.device, h.node from pg_catalog.unnest($1::int8[]) as d (device)
        cross join lateral \(StreamHolder.holder(of: "d.device")) as h (node)
        """

    /// Makes a page of the pushes that wait for these devices due at the pace of `WakePace`,
    /// including those without a due time; returns their number.
    func wakePushes(ofDevices devices: [Int64], now: Date) async throws -> Int {
        let queued = try Self.numbers(await self.query(Self.queuedPushes, devices), "count", by: "user_id")
        if queued.isEmpty { return 0 }
        let start = WakePace.start(queued: queued, now: now)
        let waiting = try await self.query(Self.waitingPushes, devices, start).map { row in
            let (user, due) = (try row.integer("user_id"), try row.integer("due_at"))
            return (key: try DuePush(row), user: user, dueAt: due, sequence: try row.integer("sequence"))
        }
        let due = WakePace.dueTimes(of: waiting, queued: queued, now: now)
        if !due.isEmpty { try await self.query(Self.makePushesDue, keys: due.map(\.key), due.map(\.dueAt)) }
        return due.count
    }

    /// Selects the pushes that wait for devices. Locks none, since locking all of them in one
    /// statement could exceed its time limit.
    static let waitingPushes = """
        select p.notification_id, p.device, p.user_id, coalesce(p.due_at, \(Date.distantFuture.milliseconds)) as due_at,
            coalesce((select sequence from notification where id = p.notification_id), 0) as sequence
        from push p
        where p.device = any($1::int8[]) and p.owner is null and (p.due_at is null or p.due_at > $2)
        """

    /// Counts the queued pushes of the devices' users, except those that wait for other devices
    /// without a due time.
    static let queuedPushes = """
        select user_id, count(*) from push
        where device = any(array(
                select number from device
                where user_id = any(array(select user_id from device where number = any($1::int8[])))))
            and owner is null and (due_at is not null or device = any($1::int8[]))
        group by user_id
        """

    static let makePushesDue = """
        update push p set due_at = k.due_at, reason = null
        from unnest($1::int8[], $2::int8[], $3::int8[]) as k (notification_id, device, due_at)
        where \(DuePush.equal("p", "k")) and p.owner is null and (p.due_at is null or p.due_at > k.due_at)
        """

    /// Removes the due times of pushes to event streams if their devices now have no stream, so
    /// that they wait until the devices connect. The caller must have locked the counters of
    /// changes of the devices' users. Works in pages, since a statement has a time limit.
    func park(ofDevices devices: [Int64]) async throws {
        let (devices, lanes, page) = (devices.sorted(), self.streamLanes.sorted(), PostgreSQLStore.deletionPage)
        while try await self.query(Self.parkPushes, devices, lanes, PushReason.away, page).changed == page {}
    }

    /// Looks for streams before it reads the pushes: otherwise PostgreSQL may read all waiting
    /// pushes, to look for the streams of fewer.
    static let parkPushes = """
        with left_over as (
            select w.notification_id, w.device from pg_catalog.unnest($1::int8[]) as d (device) cross join lateral (
                select p.notification_id, p.device from push p
                where \(DuePush.byDevice.rows(of: "d.device", after: "0")) and p.lane = any($2::text[])
                    and p.due_at is not null and not p.is_withdrawn and \(DueDelivery.isFree)
                order by \(DuePush.byDevice.order) limit $4 for update) as w
            where \(StreamHolder.holder(of: "d.device")) is null limit $4)
        update push p set owner = null, due_at = null, reason = $3 from left_over l
        where \(DuePush.equal("p", "l"))
        """

    /// Sets `is_shared` in the rows of streams whose devices have streams at several servers. The
    /// caller must have locked the counters of changes of the devices' users.
    func markShared(ofDevices devices: [Int64]) async throws {
        if !devices.isEmpty { _ = try await self.query(Self.markStreamsShared, devices) }
    }

    static let markStreamsShared = """
        update stream s set is_shared = true
        where s.device = any($1::int8[]) and not s.is_shared and \(PostgreSQLStore.isElsewhere)
        """
}
