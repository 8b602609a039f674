internal import PushCore
internal import Synchronization

/// Which senders rest because their provider refused our credentials, and why.
package final class SenderStatus: Sendable {
    private let paused = Mutex<[Platform: String]>([:])

    package init() {}

    /// A line for each paused sender, for an operator.
    package var troubles: [String] {
        self.paused.withLock { paused in
            paused.map { "the sender \($0) is paused: \($1)" }.sorted()
        }
    }

    func pause(_ platform: Platform, reason: String) {
        self.paused.withLock { $0[platform] = reason }
    }

    func resume(_ platform: Platform) {
        self.paused.withLock { _ = $0.removeValue(forKey: platform) }
    }
}
