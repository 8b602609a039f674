internal import PushCore
internal import PushStore
internal import Synchronization

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
