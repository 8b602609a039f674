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
