internal import PushCore
internal import PushStore
internal import Synchronization

/// The pushes that the event streams of this server have received, of devices that also have a
/// stream at another server. One of the servers sends a push, and the other repeats it. Any
/// thread may use it.
final class StreamEchoes: Sendable {
    private struct State {
        /// The time when each push was sent to the streams here, in milliseconds.
        var sent: [DuePush: Int64] = [:]
        var shared: Set<Int64> = []
        /// The database's time of the last search, in milliseconds.
        var lastLook: Int64?
    }

    /// Each search begins this long before the last one, in milliseconds: clocks differ, and a
    /// push that was settled earlier may be committed later.
    static let overlap: Int64 = 10_000
    /// Beyond this number all entries are dropped; a push may then be sent twice.
    private static let limit = 100_000

    private let state = Mutex(State())
    /// Set when another server has announced events to repeat.
    let signal = Signal()

    /// The time from which a search reads settled pushes, in milliseconds.
    var start: Int64 { self.state.withLock { state in state.lastLook.map { $0 - Self.overlap } ?? .min } }

    /// Records a search at the database's time `date`, and the devices that have streams at
    /// several servers.
    func record(readAt date: Int64, shared: Set<Int64>) {
        self.state.withLock { state in
            state.shared = shared
            state.lastLook = date
            state.sent = state.sent.filter { $0.value >= date - 2 * Self.overlap }
        }
    }

    /// Records that a push is being sent to the streams here; `false` if it was sent before.
    func begin(_ push: DuePush, at date: Int64) -> Bool {
        self.state.withLock { state in
            if state.sent.count >= Self.limit { state.sent.removeAll() }
            return state.sent.updateValue(date, forKey: push) == nil
        }
    }

    /// Drops a push that the streams here did not accept: the next search finds it again.
    func giveBack(_ push: DuePush) {
        self.state.withLock { $0.sent[push] = nil }
    }

    /// Records pushes that the streams here have received, before other servers can see that they
    /// were sent. Returns whether other servers must repeat them.
    func record(_ pushes: [DuePush], at date: Int64) -> Bool {
        for push in pushes { _ = self.begin(push, at: date) }
        return self.state.withLock { state in pushes.contains { state.shared.contains($0.device) } }
    }
}
