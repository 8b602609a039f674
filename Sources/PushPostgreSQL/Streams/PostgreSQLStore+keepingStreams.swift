internal import PushCore
internal import PushStore
internal import Synchronization

extension PostgreSQLStore {
    /// How long the first ended stream waits for further ends, so that one transaction deletes the
    /// rows of several streams.
    private static let gathering = Duration.milliseconds(100)
    /// The interval between two checks whether this server has joined under another number.
    private static let interval = Duration.seconds(1)
    /// In multiples of `interval`: the time between two searches for rows of fenced servers, and
    /// between two comparisons of all rows with the open streams.
    private static let (fencedEvery, allEvery) = (5, 60)

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
}

/// The devices whose last event stream at this server has ended, but whose row of `stream` still
/// exists.
final class StreamBook: Sendable {
    /// A lock protects the devices: streams end on many threads, and one task processes them.
    private let silent = Mutex(Set<DeviceHandle>())
    /// Set when there are devices to process.
    let signal = Signal()

    func record(_ devices: [DeviceHandle]) {
        self.silent.withLock { $0.formUnion(devices) }
        self.signal.set()
    }

    /// Removes and returns at most `limit` devices.
    func take(_ limit: Int) -> [DeviceHandle] {
        self.silent.withLock { silent in
            let taken = Array(silent.prefix(limit))
            silent.subtract(taken)
            return taken
        }
    }
}
