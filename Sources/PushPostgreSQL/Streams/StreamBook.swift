internal import PushCore
internal import Synchronization

/// The devices whose last event stream at this server has ended, but whose row in `stream` still
/// exists.
final class StreamBook: Sendable {
    /// Streams end on many threads, and one task processes them.
    private let silent = Mutex(Set<DeviceHandle>())
    /// Set when there are devices to take.
    let signal = Signal()

    func record(_ devices: [DeviceHandle]) {
        self.silent.withLock { $0.formUnion(devices) }
        self.signal.set()
    }

    /// Removes and returns at most `limit` devices.
    func take(_ limit: Int) -> [DeviceHandle] {
        self.silent.withLock { silent in
            let taken = Array(silent.prefix(limit))
            silent.subtract(taken)
            return taken
        }
    }
}
