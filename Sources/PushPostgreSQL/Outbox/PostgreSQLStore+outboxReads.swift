package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func nextDue(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date? {
        if self.hasStreams(lane) {
            // Only pushes to streams at this server count: other servers send the pushes of their
            // own streams.
            return try await self.read(
                Self.nextDueByStream,
                lane.description,
                queue == .bulk,
                Int64.min,
                self.membership.number
            ) { try $0.first?.integer(0) }.map(Date.init(milliseconds:))
        }
        let marks = self.marks
        let search = marks.begin(.pushes(lane, queue), at: .now)
        let first = try await self.read(Self.nextDue, lane.description, queue == .bulk, search.start) { rows in
            try rows.first?.integer(0)
        }
        marks.endPoll(search, first: first, at: .now)
        return first.map(Date.init(milliseconds:))
    }

    static let nextDue = nextDue("")
    static let nextDueByStream = nextDue("and (p.is_withdrawn or \(StreamHolder.ofPush) = $4)")

    private static func nextDue(_ condition: String) -> String {
        """
        select p.due_at from push p
        where p.lane = $1 and p.is_bulk = $2 and p.due_at >= $3 and \(DueDelivery.isFree) \(condition)
        order by p.due_at limit 1
        """
    }

    package func oldestWaiting(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date? {
        // This search starts from the same due time as the search for the next due push: for
        // earlier due times, the index may have only entries of deleted rows.
        let start = self.marks.begin(.pushes(lane, queue), at: .now).start
        return try await self.read(
            Self.oldestWaiting,
            lane.description,
            queue == .bulk,
            start,
            Int64(OldestPush.maximumExamined)
        ) { try $0.first?.optionalInteger(0) }.map(Date.init(milliseconds:))
    }

    static let oldestWaiting = """
        select min(n.created_at) from (
            (select notification_id, due_at from push where lane = $1 and is_bulk = $2 and due_at >= $3
                order by due_at limit $4)
            union all
            (select notification_id, due_at from push where lane = $1 and is_bulk = $2 and due_at >= $3
                order by due_at desc limit $4)
        ) w join notification n on n.id = w.notification_id where w.due_at < n.expires_at
        """

    package func tallies() async throws(StoreError) -> [String: Tally] {
        try await self.read(Self.tallies) { try Self.tallies(in: $0) }
    }

    static let tallies = "select lane, state, sum(count)::int8 from tally group by lane, state"

    static func tallies(in rows: Rows) throws -> [String: Tally] {
        var tallies: [String: Tally] = [:]
        for row in rows {
            guard let state = TallyState(rawValue: try row.text(1)) else { continue }
            tallies[try row.text(0), default: Tally()][keyPath: state.member] = Int(clamping: try row.integer(2))
        }
        return tallies
    }

    package func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) async throws(StoreError) -> DuePush? {
        for wish in choice.wishes {
            for queue in Queue.allCases {
                let push = try await self.read(
                    Self.search,
                    lane.description,
                    queue == .bulk,
                    now.milliseconds,
                    wish.isKnown,
                    wish.avoided.sorted()
                ) { try $0.first.map(DuePush.init) }
                if let push { return push }
            }
        }
        return nil
    }

    /// Selects the first due push that satisfies the `ProbeChoice`. Because of the scalar
    /// subqueries, PostgreSQL steps through the due pushes in their order, and stops at the first
    /// suitable one.
    static let search = """
        select p.notification_id, p.device from push p
        where p.lane = $1 and p.is_bulk = $2 and p.due_at <= $3 and \(DueDelivery.isFree)
            and ($4::boolean is null
                or $4 = ((select a.device from device_push a where a.device = p.device) is not null))
            and (select v.user_id from device v where v.number = p.device) <> all($5::int8[])
        order by p.due_at limit 1
        """
}
