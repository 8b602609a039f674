internal import Foundation
internal import PushCore
internal import PushStore

/// Sharing of a lane's rate and delays between the servers of the store.
extension LaneState {
    /// The assumed number of servers before the first exchange, some milliseconds after the start.
    static let unknownServers = 10

    /// Divides the rate among this many servers.
    mutating func share(among servers: Int) {
        guard servers != self.servers else { return }
        self.servers = max(1, servers)
        self.pacer?.share(among: self.servers)
    }

    /// Applies, once, a delay that the provider has asked another server for. It becomes a pause,
    /// so that new credentials end it. After the delay, one server probes for all servers that
    /// know of the pause.
    mutating func observe(_ delay: LaneDelay, now: Date) {
        guard delay.number != self.observedDelay else { return }
        self.observedDelay = delay.number
        let until = now + delay.length.timeInterval
        self.record(self.health.beginPause(until: until, reason: delay.reason, now: now))
    }

    /// Removes and returns the delay that the other servers must apply; `nil` if there is none.
    mutating func takeUnreportedDelay() -> (until: Date, reason: String)? {
        self.unreportedDelay.take()
    }
}
