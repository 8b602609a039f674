package import Foundation
internal import PushCore
package import PushStore
internal import Synchronization

/// The shared rates of the lanes, the delays that providers ask for, and the pauses of lanes.
extension SenderStatus: SharedLimit {
    package func takeNews(into news: inout LimitNews, now: Date) {
        for shared in self.all {
            let (isUsed, delay, pause) = shared.withLock {
                ($0.isUsed(now: now), $0.takeUnreportedDelay(), $0.takePause(now: now))
            }
            let lane = shared.lane.description
            if isUsed { news.lanes.append(lane) }
            if let pause { news.pauses.append(LanePause(lane: lane, pause)) }
            guard let delay, delay.until > now else { continue }
            let length = Duration.seconds(delay.until.timeIntervalSince(now))
            news.delays.append(LaneDelay(lane: lane, length: length, reason: delay.reason))
        }
    }

    package func apply(_ answer: LimitAnswer, now: Date) {
        let lanes = self.all
        let used = Set(lanes.filter { shared in shared.withLock { $0.isUsed(now: now) } }.map(\.lane))
        let delays = Dictionary(answer.delays.map { ($0.lane, $0) }) { first, _ in first }
        let pauses = Dictionary(answer.pauses.map { ($0.lane, $0) }) { first, _ in first }
        let counts = self.shares.withLock { shares in
            shares.record(answer, used: used, of: Set(lanes.map(\.lane)), now: now)
            return lanes.map { shared in
                let delay = delays[shared.lane.description]
                let isNew = delay.map { shares.observe($0, of: shared.lane) } ?? false
                return (servers: shares.count(of: shared.lane), delay: isNew ? delay : nil)
            }
        }
        for (shared, count) in zip(lanes, counts) {
            shared.withLock { state in
                state.share(among: count.servers)
                if let delay = count.delay {
                    state.beginPause(until: now + delay.length.timeInterval, reason: delay.reason, now: now)
                }
                if let pause = pauses[shared.lane.description] { state.observe(pause, now: now) }
            }
        }
    }
}
