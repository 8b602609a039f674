internal import GRDB
internal import PushStore

/// The states that a tally counts; the names are those of the database.
enum TallyState: String {
    case enqueued
    case accepted
    case expired
    case failed
    case cancelled

    var member: WritableKeyPath<Tally, Int> {
        switch self {
        case .enqueued: \.enqueued
        case .accepted: \.accepted
        case .expired: \.expired
        case .failed: \.failed
        case .cancelled: \.cancelled
        }
    }
}

/// Counts within one transaction, to be written at its end.
struct TallyCount {
    private struct Key: Hashable {
        let lane: String
        let state: TallyState
    }

    private var counts: [Key: Int] = [:]

    mutating func add(_ state: TallyState, lane: String) {
        self.counts[Key(lane: lane, state: state), default: 0] += 1
    }

    func write(_ db: Database) throws {
        for (key, count) in self.counts {
            try db.run(
                prepared: """
                    insert into tally (lane, state, count) values (?, ?, ?)
                    on conflict (lane, state) do update set count = count + excluded.count
                    """,
                key.lane,
                key.state.rawValue,
                count
            )
        }
    }
}
