internal import PostgreSQL
internal import PushStore
internal import Synchronization

/// Tracks whether the store is open, and reports events about the database's servers. Any thread
/// may use it.
final class DatabaseCondition: Sendable {
    private let mark: (any DatabaseMarkKeeper)?
    private let onEvent: @Sendable (StoreEvent) -> Void
    private let hasClosed = Atomic(false)
    private let missingKeys = Mutex(Set<UInt32>())
    let shared: StoreCondition
    /// The number of transactions that run, or wait for a connection.
    let waiting = Atomic(0)

    init(mark: (any DatabaseMarkKeeper)?, onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        (self.mark, self.onEvent, self.shared) = (mark, onEvent, StoreCondition(onEvent: onEvent))
    }

    var isClosed: Bool { self.hasClosed.load(ordering: .acquiring) }

    /// Records that the store is closed. Returns `false` if it was closed before.
    func beginClosing() -> Bool { !self.hasClosed.exchange(true, ordering: .acquiringAndReleasing) }

    func record(_ event: ClusterEvent) {
        switch event {
        case .refused(let fault): self.onEvent(.databaseRefused(reason: fault.description))
        case .trusted: self.onEvent(.databaseTrusted)
        case .advanced(let identity): self.keep(identity)
        }
    }

    /// Stores the mark (the cluster and its newest timeline) before any write on a newer timeline
    /// is acknowledged. The call waits for the disk, but only once for each failover.
    private func keep(_ identity: ClusterIdentity) {
        do {
            try self.mark?.keep(DatabaseMark(identity))
        } catch {
            // The mark is not stored, but this server keeps the identity in memory until it ends.
            self.onEvent(.markNotKept(reason: "\(error)"))
        }
    }

    /// Reports that this server lacks a data key, once for each key.
    func record(missingKey number: UInt32) {
        let isNew = self.missingKeys.withLock { $0.insert(number).inserted }
        if isNew { self.onEvent(.keyMissing(number)) }
    }
}
