internal import PushCore
internal import Synchronization

/// The devices whose last event stream here has ended, and whose rows still say that there is one.
final class StreamBook: Sendable {
    /// Streams end on many threads, and one task takes what they leave.
    private let silent = Mutex(Set<DeviceHandle>())
    /// Set when there is something to take.
    let signal = Signal()

    func note(_ devices: [DeviceHandle]) {
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
