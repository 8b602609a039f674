internal import PushStore
internal import Synchronization

/// The end of a hash chain of the audit; a writer adds entries there.
struct AuditHead: Sendable, Hashable {
    let chain: Int64
    /// The number of this server when it took the chain.
    let server: Int64
    let link: AuditLink
}

/// The number under which one transaction at a time writes: its rows of the tally, and its hash
/// chain of the audit.
final class WriterSlot: Sendable {
    /// A few numbers suffice: if two servers share rows of the tally, they only wait for each
    /// other.
    private static let servers: Int64 = 64
    private static let slots: Int64 = 64

    let number: Int
    private let state = Mutex<AuditHead?>(nil)

    init(_ number: Int) {
        self.number = number
    }

    /// The end of the chain after the last commit; `nil`: the slot has no chain yet, or does not
    /// know its end.
    var head: AuditHead? {
        get { self.state.withLock { $0 } }
        set { self.state.withLock { $0 = newValue } }
    }

    func tallyWriter(server: Int64) -> Int64 {
        (server % Self.servers) * Self.slots + Int64(self.number) % Self.slots
    }
}

/// The slots of this server, about as many as transactions run at the same time.
final class WriterSlots: Sendable {
    private struct State {
        var free: [WriterSlot] = []
        var count = 0
    }

    private let state = Mutex(State())

    /// The free slot with the lowest number, so that few are in use.
    func take() -> WriterSlot {
        self.state.withLock { state in
            if let index = state.free.indices.min(by: { state.free[$0].number < state.free[$1].number }) {
                return state.free.remove(at: index)
            }
            defer { state.count += 1 }
            return WriterSlot(state.count)
        }
    }

    func giveBack(_ slot: WriterSlot) {
        self.state.withLock { $0.free.append(slot) }
    }
}

/// The slot of one call of `write`, for all runs of its transaction.
final class SlotLoan: Sendable {
    private let slots: WriterSlots
    private let state = Mutex<WriterSlot?>(nil)

    init(_ slots: WriterSlots) {
        self.slots = slots
    }

    /// The slot is taken at the first run, when the transaction has a connection: callers that
    /// wait for a connection need no slot.
    var slot: WriterSlot {
        self.state.withLock { slot in
            if let slot { return slot }
            let taken = self.slots.take()
            slot = taken
            return taken
        }
    }

    /// Returns the slot, which must not be used any more.
    func end() {
        if let slot = self.state.withLock({ $0.take() }) { self.slots.giveBack(slot) }
    }

    /// Leaves the audit's hash chain, which another server may have extended.
    func forgetHead() {
        self.state.withLock { $0?.head = nil }
    }
}
