package import PushCore
internal import Synchronization

/// Which lanes rest because their provider refuses us, asks for rest or is not to be reached, and why.
package final class SenderStatus: Sendable {
    private struct State {
        var resting: [Lane: String] = [:]
        var lanes: [LaneState] = []
    }

    private let state = Mutex(State())

    package init() {}

    /// A line for each resting lane, for an operator.
    package var troubles: [String] {
        self.state.withLock { state in
            state.resting.map { "the sender \($0) rests: \($1)" }.sorted()
        }
    }

    /// Forgets all trouble, as after new credentials: each lane tries again at the next bell.
    package func reset() {
        for lane in self.state.withLock({ $0.lanes }) { lane.resetHealth() }
    }

    /// The same for one lane.
    package func reset(_ lane: Lane) {
        for state in self.state.withLock({ $0.lanes }) where state.lane == lane { state.resetHealth() }
    }

    func watch(_ lane: LaneState) {
        self.state.withLock { $0.lanes.append(lane) }
    }

    /// Notes what holds a lane up, or that nothing does.
    func set(_ lane: Lane, trouble: String?) {
        self.state.withLock { $0.resting[lane] = trouble }
    }
}
