internal import Foundation
internal import PushCore
internal import PushStore

/// Shares a lane's rate and delays among the servers that have the same store.
extension LaneState {
    /// The number of servers that is assumed until the first exchange with other servers, some
    /// milliseconds after the start.
    static let unknownServers = 10

    /// Divides the lane's rate among `servers` servers.
    mutating func share(among servers: Int) {
        guard servers != self.servers else { return }
        self.servers = max(1, servers)
        self.pacer?.share(among: self.servers)
    }

    /// Applies a delay that another server reports, because the provider has requested it there.
    /// Each delay is applied only once. The delay becomes a pause, so that new credentials end it.
    /// After the delay, one server sends a probe for all servers that know of the pause.
    mutating func observe(_ delay: LaneDelay, now: Date) {
        guard delay.number != self.observedDelay else { return }
        self.observedDelay = delay.number
        let until = now + delay.length.timeInterval
        self.record(self.health.beginPause(until: until, reason: delay.reason, now: now))
    }

    /// Removes and returns the delay that the other servers must apply; `nil` if there is no such
    /// delay.
    mutating func takeUnreportedDelay() -> (until: Date, reason: String)? {
        self.unreportedDelay.take()
    }
}
