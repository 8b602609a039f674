internal import Synchronization

/// Whether the disk is full, which is told once when it begins and once when it ends.
final class DiskSpace: Sendable {
    private let isUsedUp = Atomic(false)
    private let onEvent: @Sendable (StoreEvent) -> Void

    init(onEvent: @escaping @Sendable (StoreEvent) -> Void) {
        self.onEvent = onEvent
    }

    var isFull: Bool { self.isUsedUp.load(ordering: .relaxed) }

    /// Takes in whether something could be written; returns whether that is news.
    @discardableResult
    func note(isFull: Bool) -> Bool {
        guard self.isUsedUp.exchange(isFull, ordering: .relaxed) != isFull else { return false }
        self.onEvent(isFull ? .diskFull : .roomAgain)
        return true
    }
}
