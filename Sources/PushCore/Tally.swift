/// The number of pushes that were ever enqueued in a lane (a provider's queue), and the number for
/// each outcome.
///
/// The outcome of a push is counted when the push ends. So pushes without an outcome are still
/// pending.
package struct Tally: Sendable, Hashable {
    package var enqueued = 0
    package var accepted = 0
    package var expired = 0
    package var failed = 0
    package var cancelled = 0

    package init() {}

    package var pending: Int {
        // If the counts are damaged, this may overflow, which must not end the process.
        self.enqueued &- self.accepted &- self.expired &- self.failed &- self.cancelled
    }
}

/// The states of pushes that are counted for each lane (a provider's queue). The database contains
/// these names.
package enum TallyState: String, Sendable {
    case enqueued, accepted, expired, failed, cancelled

    package var member: WritableKeyPath<Tally, Int> {
        switch self {
        case .enqueued: \.enqueued
        case .accepted: \.accepted
        case .expired: \.expired
        case .failed: \.failed
        case .cancelled: \.cancelled
        }
    }
}

/// How many pushes have entered each state in one transaction. The numbers are written at its end.
package struct TallyCount: Sendable {
    package struct Key: Sendable, Hashable {
        package let lane: String
        package let state: TallyState
    }

    package private(set) var counts: [Key: Int] = [:]

    package init() {}

    package mutating func add(_ state: TallyState, lane: String, by count: Int = 1) {
        self.counts[Key(lane: lane, state: state), default: 0] += count
    }
}
