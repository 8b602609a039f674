internal import GRDB

/// How many pushes of a lane have ever been enqueued, and what became of them: none is ever lost without a word, so
/// what is in no other state is pending.
package struct Tally: Sendable, Hashable {
    package var enqueued = 0
    package var accepted = 0
    package var expired = 0
    package var failed = 0
    package var cancelled = 0

    package init() {}

    package var pending: Int {
        // Damaged counts are wrong, but must not end the process.
        self.enqueued &- self.accepted &- self.expired &- self.failed &- self.cancelled
    }
}

extension Reader {
    /// The tallies of all lanes that ever had a push.
    package func tallies() throws(StoreError) -> [String: Tally] {
        try self.read { db in
            var tallies: [String: Tally] = [:]
            for row in try Row.fetchAll(db.cachedStatement(sql: "select lane, state, count from tally")) {
                guard let state = try TallyState(rawValue: row["state"]) else { continue }
                tallies[try row["lane"], default: Tally()][keyPath: state.member] = try row["count"]
            }
            return tallies
        }
    }
}

/// What a tally counts; the names are those of the database.
enum TallyState: String {
    case enqueued
    case accepted
    case expired
    case failed
    case cancelled

    fileprivate var member: WritableKeyPath<Tally, Int> {
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
