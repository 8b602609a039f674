internal import PushCore
internal import Synchronization

/// The state of a lane, as its loop, its workers and the status share it.
///
/// A lock, because each of the many workers needs it for a moment between two pushes.
final class SharedLane: Sendable {
    let lane: Lane
    private let state: Mutex<LaneState>

    init(_ settings: LaneSettings, inFlight: Int) {
        self.lane = settings.lane
        self.state = Mutex(LaneState(settings, inFlight: inFlight))
    }

    func withLock<Result: Sendable>(_ body: (inout LaneState) -> Result) -> Result {
        self.state.withLock { body(&$0) }
    }
}
