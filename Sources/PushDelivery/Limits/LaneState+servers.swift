internal import Foundation
internal import PushCore
internal import PushStore

/// Sharing of a lane's rate and delays between the servers that send from it.
extension LaneState {
    /// How long the lane counts as used after a push was leased, in seconds.
    static let use: TimeInterval = 5

    /// Whether this server sends from the lane.
    func isUsed(now: Date) -> Bool {
        if !self.leased.isEmpty || self.inFlight > 0 { return true }
        return self.leasedAt.map { abs(now.timeIntervalSince($0)) < Self.use } ?? false
    }

    /// Divides the rate among so many servers.
    mutating func share(among servers: Int) {
        guard servers != self.servers else { return }
        self.servers = servers
        self.pacer?.share(among: servers)
    }

    /// Applies a delay that the provider has asked another server for; afterwards one server
    /// probes for all that know of the pause.
    mutating func beginPause(until date: Date, reason: String, now: Date) {
        self.record(self.health.beginPause(until: date, reason: reason, now: now))
    }

    /// Removes and returns the delay that the other servers must apply; `nil` if there is none.
    mutating func takeUnreportedDelay() -> (until: Date, reason: String)? {
        self.unreportedDelay.take()
    }
}
