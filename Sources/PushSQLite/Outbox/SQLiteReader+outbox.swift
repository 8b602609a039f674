package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func nextDue(in lane: Lane, _ queue: Queue) throws(StoreError) -> Date? {
        try self.read { db in
            try db.first(
                """
                select due_at from delivery
                where lane = \(lane.description) and is_bulk = \(queue.rawValue) and state = 'queued'
                    and due_at is not null
                order by due_at limit 1
                """
            ) { Date(milliseconds: $0.integer(0)) }
        }
    }

    package func oldestWaiting(in lane: Lane, _ queue: Queue) throws(StoreError) -> Date? {
        try self.read { db in
            // If there are no pushes, the minimum is null.
            let most = OldestPush.maximumExamined
            return try db.first(prepared: Self.oldestWaiting, lane.description, queue.rawValue, most) { $0.date(0) }
                ?? nil
        }
    }

    /// Because of the cross join, SQLite begins with the few pushes at both ends of the queue.
    /// Each end has a subquery of its own: a common table expression for both would contain the
    /// whole queue.
    static let oldestWaiting = """
        select min(n.created_at) from (
            select * from (
                select notification_id, due_at from delivery
                where lane = ?1 and is_bulk = ?2 and state = 'queued' and due_at is not null
                order by due_at limit ?3
            )
            union all
            select * from (
                select notification_id, due_at from delivery
                where lane = ?1 and is_bulk = ?2 and state = 'queued' and due_at is not null
                order by due_at desc limit ?3
            )
        ) w cross join notification n on n.id = w.notification_id where w.due_at < n.expires_at
        """

    package func tallies() throws(StoreError) -> [String: Tally] {
        try self.read { try Self.tallies($0) }
    }

    static func tallies(_ db: Database) throws -> [String: Tally] {
        var tallies: [String: Tally] = [:]
        try db.each(prepared: "select lane, state, count from tally") { row in
            guard let state = TallyState(rawValue: row.text(1)) else { return }
            tallies[row.text(0), default: Tally()][keyPath: state.member] = Int(clamping: row.integer(2))
        }
        return tallies
    }
}
