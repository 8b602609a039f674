internal import Foundation
internal import PushCore
internal import PushStore

/// Exchanges the lanes' pauses, and the delays that providers request, with the other servers.
/// Also divides the lanes' rates by the number of servers.
extension SenderStatus {
    /// Removes and returns, for all lanes, the delays and pauses that the other servers do not
    /// know yet.
    func takeNews(now: Date) -> LimitNews {
        var news = LimitNews()
        for shared in self.all {
            let (delay, pause) = shared.withLock { ($0.takeUnreportedDelay(), $0.takePause(now: now)) }
            let lane = shared.lane.description
            if let pause { news.pauses.append(LanePause(lane: lane, pause)) }
            guard let delay, delay.until > now else { continue }
            let length = Duration.seconds(delay.until.timeIntervalSince(now))
            news.delays.append(LaneDelay(lane: lane, length: length, reason: delay.reason))
        }
        return news
    }

    /// Applies the delays and pauses that the other servers have reported. `servers` is the number
    /// of live servers, including this one.
    func apply(_ others: LimitNews, of servers: Int, now: Date) {
        let delays = Dictionary(others.delays.map { ($0.lane, $0) }) { first, _ in first }
        let pauses = Dictionary(others.pauses.map { ($0.lane, $0) }) { first, _ in first }
        for shared in self.all {
            let lane = shared.lane.description
            shared.withLock { state in
                state.share(among: servers)
                if let delay = delays[lane] { state.observe(delay, now: now) }
                if let pause = pauses[lane] { state.observe(pause, now: now) }
            }
        }
    }
}
