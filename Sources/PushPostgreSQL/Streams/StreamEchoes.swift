internal import PushCore
internal import PushStore
internal import Synchronization

/// What the event streams of this process have got, of devices that have one at another process, too: that process sends their
/// pushes, and this one repeats them, or the other way round. Any thread may use it.
final class StreamEchoes: Sendable {
    private struct State {
        /// When each push was sent to the streams here, in milliseconds.
        var sent: [DuePush: Int64] = [:]
        var shared: Set<Int64> = []
        /// The database's time of the last look, in milliseconds.
        var lastLook: Int64?
    }

    /// How far back each look goes, in milliseconds: clocks differ, and what is settled earlier may be committed later.
    static let overlap: Int64 = 10_000
    /// More are forgotten at once, and may come twice.
    private static let limit = 100_000

    private let state = Mutex(State())
    /// Set when another process has told that there is something to repeat.
    let signal = Signal()

    /// From which time on settled pushes are looked at, in milliseconds.
    var start: Int64 { self.state.withLock { state in state.lastLook.map { $0 - Self.overlap } ?? .min } }

    /// Notes a look at the database's time `date`, and the devices that have streams at several processes.
    func note(lookAt date: Int64, shared: Set<Int64>) {
        self.state.withLock { state in
            state.shared = shared
            state.lastLook = date
            state.sent = state.sent.filter { $0.value >= date - 2 * Self.overlap }
        }
    }

    /// Notes that a push is sent to the streams here; `false` if it was before.
    func begin(_ push: DuePush, at date: Int64) -> Bool {
        self.state.withLock { state in
            if state.sent.count >= Self.limit { state.sent.removeAll() }
            return state.sent.updateValue(date, forKey: push) == nil
        }
    }

    /// Forgets a push that the streams here did not take: the next look finds it again.
    func giveBack(_ push: DuePush) {
        self.state.withLock { $0.sent[push] = nil }
    }

    /// Notes pushes that the streams here have got, before others can see it; whether other processes have to repeat them.
    func note(_ pushes: [DuePush], at date: Int64) -> Bool {
        for push in pushes { _ = self.begin(push, at: date) }
        return self.state.withLock { state in pushes.contains { state.shared.contains($0.device) } }
    }
}
