internal import Synchronization

/// How many connections a server has, and what became of others. Counted by the server, read from any thread.
package final class ConnectionCounts: Sendable {
    private let opened = Atomic(0)
    private let closed = Atomic(0)
    private let turnedAway = Atomic(0)
    private let givenUp = Atomic(0)

    package init() {}

    /// Those that have a place now.
    package var open: Int { self.opened.load(ordering: .relaxed) - self.closed.load(ordering: .relaxed) }
    /// Those that got none, whether they were told so or not.
    package var refused: Int { self.turnedAway.load(ordering: .relaxed) }
    /// Idle ones that were closed to make room.
    package var evicted: Int { self.givenUp.load(ordering: .relaxed) }

    func noteOpened() { self.opened.wrappingAdd(1, ordering: .relaxed) }
    func noteClosed() { self.closed.wrappingAdd(1, ordering: .relaxed) }
    func noteRefused() { self.turnedAway.wrappingAdd(1, ordering: .relaxed) }
    func noteEvicted() { self.givenUp.wrappingAdd(1, ordering: .relaxed) }
}
