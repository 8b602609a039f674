internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore
internal import Synchronization

/// Keeps the rows of the table `stream` up to date.
extension PostgreSQLStore {
    /// The maximum number of devices in one transaction. While it runs, posts to the devices'
    /// users wait.
    private static let page = 200
    /// How long the first ended stream waits for further ends, so that one transaction deletes the
    /// rows of several streams.
    private static let gathering = Duration.milliseconds(100)
    /// The interval between two checks whether this server has joined under another number.
    private static let interval = Duration.seconds(1)
    /// In multiples of `interval`: the time between two searches for rows of fenced servers, and
    /// between two comparisons of all rows with the open streams.
    private static let (fencedEvery, allEvery) = (5, 60)

    /// A row of `stream`, with the device's handle, which identifies the device in the
    /// `StreamHub`. A deleted device has no handle.
    private struct StreamRow: Sendable {
        let device: Int64
        let server: Int64
        let handle: DeviceHandle?
        let user: Int64?

        init(_ row: Row) throws {
            (self.device, self.server) = (try row.integer("device"), try row.integer("node"))
            self.handle = try row.optionalText("id").flatMap { DeviceHandle($0) }
            self.user = try row.optionalInteger("user_id")
        }
    }

    /// Keeps the rows of event streams up to date until the task is cancelled.
    func keepStreams() async {
        // If this server has no lane (queue of pushes) for event streams, there are no such rows.
        if self.options.streamLanes.isEmpty { return }
        var rounds = 0
        var number = self.membership.number
        var next = ContinuousClock.now + Self.interval
        // After a failure nothing is lost, since the next round does the same work.
        await self.repeating(self.streamBook.signal, pause: Self.interval) {
            await self.streamBook.signal.wait(atMost: max(next - .now, .milliseconds(1)))
            // A cancellation ends this sleep early, and the last round follows at once.
            try? await Task.sleep(for: Self.gathering)
            let isRound = .now >= next
            if isRound {
                next = .now + Self.interval
                rounds += 1
            }
            try await self.writeStreamEnds()
            let present = self.membership.number
            if number != present || (isRound && rounds % Self.allEvery == 0) {
                try await self.compareStreams()
                number = present
            } else if isRound, rounds % Self.fencedEvery == 0 {
                try await self.removeStreamsOfFencedServers()
            }
        }
    }

    /// Deletes the rows of streams that have ended at this server since the last call, many in one
    /// transaction. Pushes to these streams then wait until their devices connect.
    package func writeStreamEnds() async throws {
        while true {
            let ended = self.streamBook.take(Self.page)
            if ended.isEmpty { return }
            do {
                let found = try await self.read(Self.rowsOf, ended.map(\.value), self.membership.number)
                try await self.remove(try found.map(StreamRow.init))
            } catch {
                self.streamBook.record(ended)
                throw error
            }
        }
    }

    /// Deletes the rows of fenced servers, whose work other servers may take over. Pushes to their
    /// streams then wait until the devices connect.
    package func removeStreamsOfFencedServers() async throws {
        while true {
            let found = try await self.read(Self.rowsOfFenced, Int64(Self.page)).map(StreamRow.init)
            try await self.remove(found)
            if found.count < Self.page { return }
        }
    }

    /// Compares all rows with the streams that are open at this server. Inserts missing rows, for
    /// example after this server was fenced and has got another number. Deletes rows without a
    /// stream, such as those of deleted devices.
    package func compareStreams() async throws {
        var (last, here): (Int64, Set<DeviceHandle>) = (.min, [])
        let number = self.membership.number
        while true {
            let rows = try await self.read(Self.rowsAfter, last, number, Int64(Self.page)).map(StreamRow.init)
            here.formUnion(rows.filter { $0.server == number }.compactMap(\.handle))
            try await self.remove(rows.filter { $0.server != number || !self.isListening($0) })
            guard rows.count >= Self.page, let next = rows.last?.device else { break }
            last = next
        }
        try await self.unmarkShared()
        var missing = self.options.streams.devices.filter { !here.contains($0) }[...]
        while !missing.isEmpty {
            try await self.add(Array(missing.prefix(Self.page)), now: self.options.now())
            missing = missing.dropFirst(Self.page)
        }
    }

    // MARK: - Private

    private func isListening(_ row: StreamRow) -> Bool { row.handle.map(self.options.streams.isListening) ?? false }

    /// Deletes rows, except those of a stream that is now open at this server, and those of other
    /// live servers.
    ///
    /// A stream is added to the `StreamHub` first. Then its transaction locks the user's counter
    /// of changes, and writes the stream's row. So under this lock, the hub contains every stream
    /// whose row is already written.
    private func remove(_ rows: [StreamRow]) async throws {
        if rows.isEmpty { return }
        try await self.write { tx in
            try await tx.lockCounters(of: rows.compactMap(\.user))
            let silent = rows.filter { !self.isListening($0) }.map(\.device)
            let devices = rows.map(\.device)
            _ = try await tx.query(Self.removal, devices, silent, self.membership.number)
            try await tx.park(ofDevices: devices)
        }
    }

    private func add(_ handles: [DeviceHandle], now: Date) async throws {
        let names = handles.map(\.value)
        let users = try await self.read(Self.usersOf, names).map { try $0.integer() }
        try await self.write { tx in
            try await tx.lockCounters(of: users)
            let open = handles.filter(self.options.streams.isListening).map(\.value)
            let added = try await tx.query(Self.addition, open, self.membership.number).map { try $0.integer() }
            if added.isEmpty { return }
            try await tx.markShared(ofDevices: added)
            while try await tx.wakePushes(ofDevices: added, now: now) == WakePace.page {}
        }
    }

    private static let usersOf = "select user_id from device where id = any($1::text[])"
    private static let streamColumns = "s.device, s.node, d.id, d.user_id"

    /// Adds the device of each stream. With a plain join, PostgreSQL reads all devices up to the
    /// last one.
    private static let deviceOfEach = """
        left join lateral (select id, user_id from device where number = s.device limit 1) d on true
        """

    private static let rowsOf = """
        select \(streamColumns) from stream s join device d on d.number = s.device where d.id = any($1::text[]) and s.node = $2
        """

    static let rowsOfFenced = """
        select \(streamColumns) from node f
        cross join lateral (select device, node from stream where node = f.number order by device limit $1) s
        \(deviceOfEach) where f.is_fenced limit $1
        """

    /// Selects the rows of this server, and those of servers that are fenced or deleted.
    static let rowsAfter = """
        select \(streamColumns) from stream s \(deviceOfEach)
        where s.device > $1 and (s.node = $2 or s.node <> all \(StreamHolder.activeServers))
        order by s.device, s.node limit $3
        """

    private static let removal = """
        delete from stream where device = any($1::int8[])
            and (node <> all \(StreamHolder.activeServers) or (node = $3 and device = any($2::int8[])))
        """

    /// Inserts missing rows. A stream's time is no later than that of the device's streams at
    /// other servers, because they may be newer: a client may have opened them while this server
    /// had no number.
    private static let addition = """
        insert into stream (device, node, since)
        select d.number, $2, coalesce(
            (select max(o.since) from stream o where o.device = d.number and o.node <> all \(StreamHolder.activeServers)), 0)
        from device d where d.id = any($1::text[]) order by d.number
        on conflict (device, node) do nothing returning device
        """
}

/// The devices whose last event stream at this server has ended, but whose row of `stream` still
/// exists.
final class StreamBook: Sendable {
    /// A lock protects the devices: streams end on many threads, and one task processes them.
    private let silent = Mutex(Set<DeviceHandle>())
    let signal = Signal()

    func record(_ devices: [DeviceHandle]) {
        self.silent.withLock { $0.formUnion(devices) }
        self.signal.set()
    }

    func take(_ limit: Int) -> [DeviceHandle] {
        self.silent.withLock { silent in
            let taken = Array(silent.prefix(limit))
            silent.subtract(taken)
            return taken
        }
    }
}
