package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func events(after number: Int64?, ofSender sender: User?, limit: Int) throws(StoreError) -> EventPage {
        let start = number ?? 0
        return try self.read { db in
            // The query requests one row more than `limit`: the additional row shows that there
            // are more events.
            var query = SQL(sql: Self.allEvents, arguments: [start, limit + 1])
            if let sender { query = SQL(sql: Self.eventsOfSender, arguments: [start, limit + 1, sender.id]) }
            let rows = try db.all(query) { try StoredEvent($0, to: sender, self.sealing) }
            return EventPage(
                rows,
                after: number,
                limit: limit,
                newest: try db.number("select coalesce(max(number), 0) from event") ?? 0,
                trimmed: try db.number("select trimmed from event_state") ?? 0
            )
        }
    }

    package static let delivered = "select delivered from event_state"

    package func eventBacklog() throws(StoreError) -> (count: Int, oldest: Date?) {
        try self.read { db in
            let start = try db.number("select max(delivered, trimmed) from event_state") ?? 0
            let newest = try db.number("select coalesce(max(number), 0) from event") ?? 0
            // Numbers are missing only directly before the row that a process writes at its start.
            let gaps = try db.all(SQL(sql: Self.gaps), start) {
                try $0.integer("number") &- max($0.integer("previous"), start)
            }
            let count = gaps.reduce(newest &- start) { $0 &- $1 }
            let oldest = try db.first(SQL(sql: Self.oldestEvent), start) { try $0.date() }
            return (max(0, Int(clamping: count)), oldest)
        }
    }

    static let allEvents = events(where: "e.kind <> 0")
    static let eventsOfSender = events(where: "e.sender_id = ?3")

    private static func events(where condition: String) -> String {
        """
        select \(StoredEvent.Column.list) from event e
        left join device v on v.number = e.device left join account u on u.id = e.user_id
        where e.number > ?1 and \(condition) order by e.number limit ?2
        """
    }

    /// Selects the rows with a number above `?1` that processes have written at their starts. For
    /// each, also selects the highest number before it.
    static let gaps = """
        select s.number, coalesce((select max(p.number) from event p where p.number < s.number), 0) as previous
        from event s where s.kind = 0 and s.number > ?1
        """

    static let oldestEvent = "select at from event where number > ?1 and kind <> 0 order by number limit 1"
}

extension SQLiteStore {
    package func recordDelivered(eventsUpTo number: Int64) async throws {
        try await self.writer.write(.delivery) { db in
            _ = try db.run("update event_state set delivered = max(delivered, \(number))")
        }
    }

    package func trimEvents(before date: Date, limit: Int) async throws -> (count: Int, undelivered: Int) {
        try await self.writer.write(.housekeeping) { db in
            // The newest row is kept, so that no other event gets its number.
            let rows = try db.all(SQL(sql: Self.oldestEvents), limit) { row in
                let isOld = try row.integer("at") < date.milliseconds
                return try (number: row.integer("number"), isOld: isOld, isEvent: row.flag("kind"))
            }
            // The order of the rows' times differs slightly from the order of their numbers.
            guard let last = rows.lastIndex(where: \.isOld) else { return (0, 0) }
            let delivered = try db.number("select delivered from event_state") ?? 0
            let deleted = rows[...last]
            try db.run("delete from event where number <= \(rows[last].number)")
            try db.run("update event_state set trimmed = \(rows[last].number)")
            return (deleted.count, deleted.count { $0.isEvent && $0.number > delivered })
        }
    }

    static let oldestEvents =
        "select number, at, kind from event where number < (select max(number) from event) order by number limit ?"
}
