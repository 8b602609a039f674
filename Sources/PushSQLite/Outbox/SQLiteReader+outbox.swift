package import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteReader {
    package func nextDue(in lane: Lane, _ queue: Queue) throws(StoreError) -> Date? {
        try self.read { db in
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        select due_at from delivery
                        where lane = ? and is_bulk = ? and state = 'queued' and due_at is not null
                        order by due_at limit 1
                        """
                ),
                arguments: [lane.description, queue.rawValue]
            ).map(Date.init(milliseconds:))
        }
    }

    package func oldestWaiting(in lane: Lane, _ queue: Queue) throws(StoreError) -> Date? {
        try self.read { db in
            // Without pushes the minimum is null.
            try Int64.fetchOne(
                db.cachedStatement(sql: Self.oldestWaiting),
                arguments: [lane.description, queue.rawValue, OldestPush.maximumExamined]
            ).map(Date.init(milliseconds:))
        }
    }

    /// The cross join keeps the order: the pushes are few. A common table for both ends would
    /// contain the whole queue.
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
        for row in try Row.fetchAll(db.cachedStatement(sql: "select lane, state, count from tally")) {
            guard let state = try TallyState(rawValue: row["state"]) else { continue }
            tallies[try row["lane"], default: Tally()][keyPath: state.member] = try row["count"]
        }
        return tallies
    }
}
