package import PushCore
internal import Synchronization

/// Which lanes rest because their provider refuses us, asks for rest or is not to be reached, and why.
package final class SenderStatus: Sendable {
    /// What holds a lane up.
    package struct Trouble: Sendable, Hashable {
        /// In the provider's words.
        package let reason: String
        /// Whether it will not pass by itself: credentials or set-up are wrong.
        package let needsOperator: Bool
    }

    private let lanes = Mutex<[SharedLane]>([])

    package init() {}

    /// All lanes that there are, and what holds them up.
    package var troubleByLane: [Lane: Trouble?] {
        let lanes = self.lanes.withLock { $0 }
        return Dictionary(lanes.map { shared in (shared.lane, shared.withLock { $0.trouble }) }) { first, _ in first }
    }

    /// A line for each lane that rests until an operator acts; what passes by itself is none.
    package var troubles: [String] {
        self.troubleByLane.compactMap { lane, trouble in
            trouble.flatMap { $0.needsOperator ? "sender \(lane) is paused: \($0.reason)" : nil }
        }.sorted()
    }

    /// Forgets a lane's trouble, as after new credentials: it tries again at the next bell.
    package func reset(_ lane: Lane) {
        for shared in self.lanes.withLock({ $0 }) where shared.lane == lane { shared.withLock { $0.resetHealth() } }
    }

    func watch(_ lane: SharedLane) {
        self.lanes.withLock { $0.append(lane) }
    }
}
