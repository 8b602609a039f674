internal import Foundation
internal import Synchronization

/// Values in memory.
final class MemoryStore: KeyValueStore {
    private struct State {
        var values: [ValueName: (value: Data, order: Int)] = [:]
        var nextOrder = 0
    }

    private let limits: StoreLimits
    /// A lock: each access is short.
    private let state = Mutex(State())

    init(limits: StoreLimits = StoreLimits()) {
        self.limits = limits
    }

    func read(_ name: ValueName) -> Data? {
        self.state.withLock { $0.values[name]?.value }
    }

    func write(_ value: Data, as name: ValueName) {
        self.state.withLock { state in
            state.values[name] = (value, state.nextOrder)
            state.nextOrder += 1
            guard name.isEvictable else { return }
            var evictable = state.values.filter { $0.key.isEvictable }.sorted { $0.value.order < $1.value.order }[...]
            var bytes = evictable.reduce(0) { $0 + $1.value.value.count }
            while evictable.count > self.limits.evictableCount || bytes > self.limits.evictableBytes,
                let oldest = evictable.popFirst()
            {
                bytes -= oldest.value.value.count
                state.values[oldest.key] = nil
            }
        }
    }

    func remove(_ name: ValueName) {
        self.state.withLock { _ = $0.values.removeValue(forKey: name) }
    }

    func removeAll(of account: String) {
        self.state.withLock { state in
            state.values = state.values.filter { $0.key.account != account }
        }
    }
}
