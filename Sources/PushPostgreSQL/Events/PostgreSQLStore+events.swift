package import Foundation
internal import PostgreSQL
package import PushStore

extension PostgreSQLStore {
    package func recordDelivered(eventsUpTo number: Int64) async throws {
        try await self.write { tx in
            _ = try await tx.query("update event_state set delivered = $1 where id = 1 and delivered < $1", number)
        }
    }

    package func trimEvents(before date: Date, limit: Int) async throws -> TrimmedEvents {
        try await self.write { tx in
            let row = try await tx.query("select delivered, trimmed from event_state where id = 1 for update").first
            guard let delivered = try row?.integer(0), let trimmed = try row?.integer(1) else {
                return TrimmedEvents(count: 0, undelivered: 0)
            }
            // The newest event is kept, so that no other event gets its number.
            let rows = try await tx.query(Self.oldestEvents, trimmed, limit).map { row in
                (
                    number: try row.integer(0),
                    isOld: try row.integer(1) < date.milliseconds,
                    isEvent: try row.integer(2) != 0
                )
            }
            // The rows are in the order of their numbers, which is not exactly that of their
            // times. So rows before the last old row may be a little newer than `date`.
            guard let last = rows.lastIndex(where: \.isOld) else { return TrimmedEvents(count: 0, undelivered: 0) }
            let deleted = rows[...last]
            _ = try await tx.query("delete from event where number > $1 and number <= $2", trimmed, rows[last].number)
            _ = try await tx.query("update event_state set trimmed = $1 where id = 1", rows[last].number)
            return TrimmedEvents(
                count: deleted.count,
                undelivered: deleted.count { $0.isEvent && $0.number > delivered }
            )
        }
    }

    static let oldestEvents = """
        select number, at, kind from event where number > $1 and number < (select max(number) from event)
        order by number limit $2
        """
}
