internal import Foundation
internal import PushCore
internal import PushStore

/// The number of servers that share the rate of each lane: the servers that have sent from it in
/// the last seconds, always including this one.
///
/// A server that begins to send from a lane takes the share that is left if all servers send,
/// until it knows which others began with it. So when a broadcast wakes all of them, they together
/// keep to the rate from the first second.
struct LaneShares: Sendable {
    /// The number of servers before the first exchange, some milliseconds after the start.
    static let unknown = 10
    /// The number of exchanges with news of its sending after which a server knows all other
    /// senders.
    static let settling = 3

    /// When each other server last reported that it sends.
    private var reportedUses: [Lane: [Int64: Date]] = [:]
    /// This server's number of consecutive exchanges with a report that it sends from the lane.
    private var announcedExchanges: [Lane: Int] = [:]
    /// The numbers of other servers' delays that were applied: each is applied once, so that new
    /// credentials end it.
    private var observed: [Lane: Int64] = [:]
    private var servers = Self.unknown

    /// Records the other servers' news of an exchange, and the lanes that this server has used.
    mutating func record(_ answer: LimitAnswer, used: Set<Lane>, of lanes: Set<Lane>, now: Date) {
        self.servers = max(1, answer.servers)
        for message in answer.messages {
            guard let names = message.news?.lanes, !names.isEmpty else { continue }
            let at = now - message.age.timeInterval
            for lane in lanes where names.contains(lane.description) {
                self.reportedUses[lane, default: [:]][message.process] = at
            }
        }
        for lane in lanes {
            // A time that is too far away was recorded before the clock was set back.
            self.reportedUses[lane] = self.reportedUses[lane]?.filter {
                abs(now.timeIntervalSince($0.value)) < LaneState.use
            }
            // Until this server has read everything, it does not know all others.
            if answer.hasMore { continue }
            self.announcedExchanges[lane] =
                used.contains(lane) ? min(self.announcedExchanges[lane, default: 0] + 1, Self.settling) : 0
        }
    }

    /// The number of servers that share the lane's rate.
    func count(of lane: Lane) -> Int {
        let senders = (self.reportedUses[lane]?.count ?? 0) + 1
        return self.announcedExchanges[lane, default: 0] < Self.settling ? max(self.servers, senders) : senders
    }

    /// Whether a delay was not applied before.
    mutating func observe(_ delay: LaneDelay, of lane: Lane) -> Bool {
        defer { self.observed[lane] = delay.number }
        return self.observed[lane] != delay.number
    }
}
