internal import Foundation
internal import PushCore
internal import PushStore

/// Among how many servers the rate of each lane is divided: those that have sent from it in the last seconds, this one always
/// among them.
///
/// A server that begins to send from a lane takes the part that is left if all servers do, until it has heard of those that
/// began with it: when a broadcast wakes all of them, they together keep to the rate from the first second.
struct LaneShares: Sendable {
    /// The number of servers before the first exchange, some milliseconds after the start.
    static let unknown = 10
    /// After so many exchanges in which it has told that it sends, a server has heard of all others that do.
    static let settling = 3

    /// When other servers, by process, last told that they send.
    private var heard: [Lane: [Int64: Date]] = [:]
    /// In how many exchanges in a row this server has told that it sends from the lane.
    private var told: [Lane: Int] = [:]
    /// The rests of other servers that were observed, by their numbers: each once, so that new credentials end it.
    private var observed: [Lane: Int64] = [:]
    private var servers = Self.unknown

    /// Notes what the others have told in an exchange, and which of its lanes this server has used.
    mutating func note(_ answer: LimitAnswer, used: Set<Lane>, of lanes: Set<Lane>, now: Date) {
        self.servers = max(1, answer.servers)
        for message in answer.messages {
            guard let names = message.news?.lanes, !names.isEmpty else { continue }
            let at = now - message.age.timeInterval
            for lane in lanes where names.contains(lane.description) {
                self.heard[lane, default: [:]][message.process] = at
            }
        }
        for lane in lanes {
            // A time that is too far away was taken before the clock was set back.
            self.heard[lane] = self.heard[lane]?.filter { abs(now.timeIntervalSince($0.value)) < LaneState.use }
            // Until it has read everything, it does not know all others.
            if answer.hasMore { continue }
            self.told[lane] = used.contains(lane) ? min(self.told[lane, default: 0] + 1, Self.settling) : 0
        }
    }

    /// Among how many servers the lane's rate is divided.
    func count(of lane: Lane) -> Int {
        let senders = (self.heard[lane]?.count ?? 0) + 1
        return self.told[lane, default: 0] < Self.settling ? max(self.servers, senders) : senders
    }

    /// Whether a rest was not observed before.
    mutating func observe(_ rest: LaneRest, of lane: Lane) -> Bool {
        defer { self.observed[lane] = rest.number }
        return self.observed[lane] != rest.number
    }
}
