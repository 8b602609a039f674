package import Foundation
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func recordDelivered(eventsUpTo number: Int64) async throws {
        try await self.writer.write(.delivery) { db in
            _ = try db.run("update event_state set delivered = max(delivered, \(number))")
        }
    }

    package func trimEvents(before date: Date, limit: Int) async throws -> TrimmedEvents {
        try await self.writer.write(.housekeeping) { db in
            // The newest row is kept, so that no other event gets its number.
            let rows = try db.all(prepared: Self.oldestEvents, limit) { row in
                (number: row.integer(0), isOld: row.integer(1) < date.milliseconds, isEvent: row.integer(2) != 0)
            }
            // The order of the rows' times differs slightly from the order of their numbers.
            guard let last = rows.lastIndex(where: \.isOld) else { return TrimmedEvents(count: 0, undelivered: 0) }
            let delivered = try db.first("select delivered from event_state") { $0.integer(0) } ?? 0
            let deleted = rows[...last]
            try db.run("delete from event where number <= \(rows[last].number)")
            try db.run("update event_state set trimmed = \(rows[last].number)")
            return TrimmedEvents(
                count: deleted.count,
                undelivered: deleted.count { $0.isEvent && $0.number > delivered }
            )
        }
    }

    static let oldestEvents = """
        select number, at, kind from event where number < (select max(number) from event) order by number limit ?
        """
}
