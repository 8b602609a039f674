import Synchronization

/// Counts calls.
final class Counter: Sendable {
    private let value = Mutex(0)

    var count: Int { self.value.withLock { $0 } }

    func increment() {
        self.value.withLock { $0 += 1 }
    }
}
