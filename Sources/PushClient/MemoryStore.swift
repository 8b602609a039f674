internal import Foundation
internal import Synchronization

/// Values in memory.
final class MemoryPlace: KeyValueStore {
    private struct State {
        var values: [PlaceName: (value: Data, order: Int)] = [:]
        var nextOrder = 0
    }

    private let limits: PlaceLimits
    /// A lock: each access is short.
    private let state = Mutex(State())

    init(limits: PlaceLimits = PlaceLimits()) {
        self.limits = limits
    }

    func read(_ name: PlaceName) -> Data? {
        self.state.withLock { $0.values[name]?.value }
    }

    func write(_ value: Data, as name: PlaceName) {
        self.state.withLock { state in
            state.values[name] = (value, state.nextOrder)
            state.nextOrder += 1
            guard name.isEvictable else { return }
            var spare = state.values.filter { $0.key.isEvictable }.sorted { $0.value.order < $1.value.order }[...]
            var bytes = spare.reduce(0) { $0 + $1.value.value.count }
            while spare.count > self.limits.spareCount || bytes > self.limits.spareBytes, let oldest = spare.popFirst()
            {
                bytes -= oldest.value.value.count
                state.values[oldest.key] = nil
            }
        }
    }

    func remove(_ name: PlaceName) {
        self.state.withLock { _ = $0.values.removeValue(forKey: name) }
    }

    func removeAll(of account: String) {
        self.state.withLock { state in
            state.values = state.values.filter { $0.key.account != account }
        }
    }
}
