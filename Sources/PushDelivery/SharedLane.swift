internal import Logging
internal import PushCore
internal import Synchronization

/// The state of a lane, which its loop, its workers and `SenderStatus` share.
///
/// A lock protects it, because each of the many workers needs it for a moment between two pushes.
final class SharedLane: Sendable {
    let lane: Lane
    private let logger: Logger
    private let state: Mutex<LaneState>
    private let pushTimes = Mutex(TimeHistogram())

    init(_ settings: LaneSettings, inFlight: Int, logger: Logger) {
        self.lane = settings.lane
        self.logger = logger
        self.state = Mutex(LaneState(settings, inFlight: inFlight))
    }

    /// The times that the provider took to answer.
    var times: TimeHistogram { self.pushTimes.withLock { $0 } }

    func record(_ time: Duration) {
        self.pushTimes.withLock { $0.record(time) }
    }

    /// Runs `body` with the lane's state, and then logs the events that an operator must know
    /// about.
    func withLock<Result: Sendable>(_ body: (inout LaneState) -> Result) -> Result {
        let (result, events) = self.state.withLock { state in (body(&state), state.takeEvents()) }
        for event in events { self.logger.log(event, of: self.lane) }
        return result
    }
}
