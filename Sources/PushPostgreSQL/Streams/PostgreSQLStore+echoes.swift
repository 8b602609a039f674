internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// Repeats events at the event streams of this server. These are events that another server has
/// sent to its own streams of the same devices.
extension PostgreSQLStore {
    /// The interval between two polls, which find the events whose announcement was lost.
    private static let interval = Duration.milliseconds(500)
    /// The maximum number of devices in one transaction. While it runs, posts to the devices'
    /// users wait.
    private static let unmarkedAtOnce = 200

    /// Searches for events to repeat, and sends them, until the task is cancelled.
    func keepEchoes() async {
        // If this server has no lane (queue of pushes) for event streams, there are no events.
        if self.options.streamLanes.isEmpty { return }
        await withDiscardingTaskGroup { group in
            await self.repeating(self.echoes.signal, pause: Self.interval) {
                await self.echoes.signal.wait(atMost: Self.interval)
                // Each event is sent in its own task, since the task waits until a socket has
                // accepted the event, or the device's streams have ended.
                for echo in try await self.findEchoes() { group.addTask { await self.send(echo) } }
            }
            group.cancelAll()
        }
    }

    /// Clears `is_shared` in the rows of this server's streams whose devices no longer have a
    /// stream at another server. The other server may have died.
    func unmarkShared() async throws {
        let number = self.membership.number
        var rows = try await self.read(Self.loneSharedStreams, number).map {
            (device: try $0.integer("device"), user: try $0.integer("user_id"))
        }[...]
        while !rows.isEmpty {
            let page = rows.prefix(Self.unmarkedAtOnce)
            rows = rows.dropFirst(page.count)
            let (devices, users) = (page.map(\.device), page.map(\.user))
            try await self.write { tx in
                try await tx.lockCounters(of: users)
                _ = try await tx.query(Self.markStreamsUnshared, devices, number)
            }
        }
    }

    struct Echo: Sendable {
        let push: DuePush
        let notification: NotificationID
        let device: DeviceHandle
        let isLook: Bool
    }

    /// Finds the events that other servers have sent to devices with a stream at this server, and
    /// that this server's streams did not get.
    func findEchoes() async throws -> [Echo] {
        let rows = try await self.read(Self.settledElsewhere, self.membership.number, self.echoes.start)
        var (echoes, shared): ([Echo], Set<Int64>) = ([], [])
        var date: Int64 = 0
        for row in rows {
            date = try row.integer("now")
            guard let device = try row.optionalInteger("device"), let name = try row.optionalText("id"),
                let handle = DeviceHandle(name), self.options.streams.isListening(handle)
            else { continue }
            shared.insert(device)
            let number = try row.optionalInteger("notification_id")
            guard let number, let id = NotificationID(rawValue: number) else { continue }
            let push = DuePush(notification: number, device: device)
            guard self.echoes.begin(push, at: try row.integer("settled_at")) else { continue }
            let isLook = try row.optionalText("lane").map { Lane(stored: $0).isOfLooks } ?? false
            echoes.append(Echo(push: push, notification: id, device: handle, isLook: isLook))
        }
        self.echoes.record(readAt: date, shared: shared)
        return echoes
    }

    func send(_ echo: Echo) async {
        // If the stream has ended, its client connects again, and says which events it has
        // received.
        let delivery = await self.options.streams.deliver(echo.notification, isLook: echo.isLook, to: echo.device)
        if delivery == .full { self.echoes.giveBack(echo.push) }
    }

    static let isElsewhere = """
        exists (
            select 1 from stream o where o.device = s.device and o.node <> s.node and o.node = any\(StreamHolder.activeServers))
        """

    static let loneSharedStreams = """
        select s.device, d.user_id from stream s join device d on d.number = s.device
        where s.node = $1 and s.is_shared and not \(isElsewhere) order by s.device
        """

    static let markStreamsUnshared = """
        update stream s set is_shared = false
        where s.device = any($1::int8[]) and s.node = $2 and s.is_shared and not \(isElsewhere)
        """

    /// Selects the pushes that a stream has accepted, for devices that have a stream both at this
    /// server and at another one. Leaves out pushes that were accepted more than two seconds
    /// before the stream at this server was opened. Always returns a row with the database's time.
    static let settledElsewhere = """
        select \(DatabaseClock.now) as now, s.device, d.id, x.notification_id, x.settled_at, x.lane
        from (select 1) as one
        left join stream s on s.node = $1 and s.is_shared
        left join device d on d.number = s.device
        left join push_end x on x.device = s.device and x.provider_id = 'stream'
            and x.settled_at >= greatest(s.since - 2000, $2)
        order by x.settled_at, x.notification_id
        """
}

/// The pushes that this server's event streams have recently received, so that the server does not
/// send them to these streams again. If a device has streams at two servers, one server leases a
/// push and sends it; the other server then repeats it. Any thread may use this object.
final class StreamEchoes: Sendable {
    private struct State {
        /// The times in milliseconds at which pushes were sent to this server's streams.
        var sent: [DuePush: Int64] = [:]
        var shared: Set<Int64> = []
        /// The database's time of the last search, in milliseconds.
        var lastLook: Int64?
    }

    /// Each search begins this number of milliseconds before the last search. Clocks differ, and a
    /// push that was settled earlier may be committed later.
    static let overlap: Int64 = 10_000
    /// The maximum number of entries. Beyond it, all entries are dropped, and a push may then be
    /// sent twice.
    private static let limit = 100_000

    private let state = Mutex(State())
    /// Set when another server has announced events that this server must repeat.
    let signal = Signal()

    /// The time in milliseconds where the next search for settled pushes begins.
    var start: Int64 { self.state.withLock { state in state.lastLook.map { $0 - Self.overlap } ?? .min } }

    /// Records a search at the time `date` of the database. `shared` are the devices that have
    /// streams at several servers.
    func record(readAt date: Int64, shared: Set<Int64>) {
        self.state.withLock { state in
            state.shared = shared
            state.lastLook = date
            state.sent = state.sent.filter { $0.value >= date - 2 * Self.overlap }
        }
    }

    /// Records that a push is being sent to this server's streams; `false` if it was already sent.
    func begin(_ push: DuePush, at date: Int64) -> Bool {
        self.state.withLock { state in
            if state.sent.count >= Self.limit { state.sent.removeAll() }
            return state.sent.updateValue(date, forKey: push) == nil
        }
    }

    /// Forgets a push that this server's streams did not accept, so that the next search finds it
    /// again.
    func giveBack(_ push: DuePush) { self.state.withLock { $0.sent[push] = nil } }

    /// Records pushes that this server's streams have received. This must happen before other
    /// servers can see these pushes as sent. Returns whether other servers must repeat them.
    func record(_ pushes: [DuePush], at date: Int64) -> Bool {
        for push in pushes { _ = self.begin(push, at: date) }
        return self.state.withLock { state in pushes.contains { state.shared.contains($0.device) } }
    }
}
