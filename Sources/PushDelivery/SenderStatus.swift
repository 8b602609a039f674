package import PushCore
internal import Synchronization

/// Which lanes are paused because their provider refuses us, asks for rest or is not to be reached, and how often they were.
package final class SenderStatus: Sendable {
    private let lanes = Mutex<[SharedLane]>([])
    /// The other servers that send from the lanes.
    let shares = Mutex(LaneShares())

    package init() {}

    /// All lanes that there are, and the pauses that they are in.
    package var pauseByLane: [Lane: Pause?] {
        self.byLane { $0.pause }
    }

    /// How many pauses of each cause all lanes have had.
    package var pauseCounts: [Lane: [Pause.Cause: Int]] {
        self.byLane { $0.pauses }
    }

    /// How often an attempt of each lane was followed by another one.
    package var retryCounts: [Lane: Int] {
        self.byLane { $0.retries }
    }

    /// How long each lane's provider took to answer.
    package var times: [Lane: TimeHistogram] {
        let lanes = self.lanes.withLock { $0 }
        return Dictionary(lanes.map { ($0.lane, $0.times) }) { first, _ in first }
    }

    /// Forgets a lane's trouble, as after new credentials: it tries again at the next bell.
    package func reset(_ lane: Lane) {
        for shared in self.lanes.withLock({ $0 }) where shared.lane == lane { shared.withLock { $0.resetHealth() } }
    }

    /// All lanes that there are.
    var all: [SharedLane] { self.lanes.withLock { $0 } }

    func watch(_ lane: SharedLane) {
        self.lanes.withLock { $0.append(lane) }
    }

    private func byLane<Value: Sendable>(_ value: (LaneState) -> Value) -> [Lane: Value] {
        let lanes = self.lanes.withLock { $0 }
        return Dictionary(lanes.map { shared in (shared.lane, shared.withLock { value($0) }) }) { first, _ in first }
    }
}
