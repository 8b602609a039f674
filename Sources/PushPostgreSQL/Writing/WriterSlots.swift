internal import PushCore
internal import Synchronization

/// The end of one of the audit's hash chains, where a writer adds records.
struct AuditHead: Sendable, Hashable {
    let chain: Int64
    /// The number that this server had when it took the chain over.
    let server: Int64
    let link: AuditLink
}

/// A number that one transaction at a time uses. It selects the rows of the table `tally` that the
/// transaction changes, and the audit's hash chain that gets the transaction's records.
final class WriterSlot: Sendable {
    /// A few different numbers suffice: if two servers use the same rows of the tally, they wait
    /// for each other, which does no harm.
    private static let servers: Int64 = 64
    private static let slots: Int64 = 64

    let number: Int
    private let state = Mutex<AuditHead?>(nil)

    init(_ number: Int) { self.number = number }

    /// The end of the chain after the last commit; `nil`: the slot has no chain yet, or does not
    /// know its end.
    var head: AuditHead? {
        get { self.state.withLock { $0 } }
        set { self.state.withLock { $0 = newValue } }
    }

    func tallyWriter(server: Int64) -> Int64 { (server % Self.servers) * Self.slots + Int64(self.number) % Self.slots }
}

/// The `WriterSlot` objects of this server. There are about as many as transactions run at the
/// same time.
final class WriterSlots: Sendable {
    private struct State {
        var free: [WriterSlot] = []
        var count = 0
    }

    private let state = Mutex(State())

    /// Borrows the free slot with the lowest number, so that only few slots are in use.
    func take() -> WriterSlot {
        self.state.withLock { state in
            if let index = state.free.indices.min(by: { state.free[$0].number < state.free[$1].number }) {
                return state.free.remove(at: index)
            }
            defer { state.count += 1 }
            return WriterSlot(state.count)
        }
    }

    func giveBack(_ slot: WriterSlot) { self.state.withLock { $0.free.append(slot) } }
}

/// The `WriterSlot` that one call of `write` borrows, for all runs of its transaction.
final class SlotLoan: Sendable {
    private let slots: WriterSlots
    private let state = Mutex<WriterSlot?>(nil)

    init(_ slots: WriterSlots) { self.slots = slots }

    /// The slot. It is borrowed at the first run, when the transaction already has a connection: a
    /// caller that still waits for a connection needs no slot.
    var slot: WriterSlot {
        self.state.withLock { slot in
            if let slot { return slot }
            let taken = self.slots.take()
            slot = taken
            return taken
        }
    }

    /// Returns the slot. It must not be used afterwards.
    func end() { if let slot = self.state.withLock({ $0.take() }) { self.slots.giveBack(slot) } }

    /// Gives up the slot's chain, because another server may have extended it.
    func forgetHead() { self.state.withLock { $0?.head = nil } }
}
