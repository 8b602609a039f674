package import PushCore
internal import Synchronization

/// The lanes (queues of pushes to one provider) of this server, for the metrics and for operators:
/// their pauses and the numbers of pauses. A lane pauses if its provider refuses the server,
/// requests a delay or cannot be reached.
package final class SenderStatus: Sendable {
    private let lanes = Mutex<[SharedLane]>([])

    package init() {}

    /// All lanes, each with its current pause; the pause is `nil` for a lane that is not paused.
    package var pauseByLane: [Lane: Pause?] {
        self.byLane { $0.pause }
    }

    /// The number of pauses of each lane, by cause.
    package var pauseCounts: [Lane: [Pause.Cause: Int]] {
        self.byLane { $0.pauses }
    }

    /// The number of each lane's attempts that were followed by a retry.
    package var retryCounts: [Lane: Int] {
        self.byLane { $0.retries }
    }

    /// For each lane, the times that its provider took to answer.
    package var times: [Lane: TimeHistogram] {
        let lanes = self.lanes.withLock { $0 }
        return Dictionary(lanes.map { ($0.lane, $0.times) }) { first, _ in first }
    }

    /// Clears a lane's failures, for example after new credentials: the lane sends again at the
    /// next wake-up.
    package func reset(_ lane: Lane) {
        for shared in self.lanes.withLock({ $0 }) where shared.lane == lane { shared.withLock { $0.resetHealth() } }
    }

    /// All lanes.
    var all: [SharedLane] { self.lanes.withLock { $0 } }

    func watch(_ lane: SharedLane) {
        self.lanes.withLock { $0.append(lane) }
    }

    private func byLane<Value: Sendable>(_ value: (LaneState) -> Value) -> [Lane: Value] {
        let lanes = self.lanes.withLock { $0 }
        return Dictionary(lanes.map { shared in (shared.lane, shared.withLock { value($0) }) }) { first, _ in first }
    }
}
