package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func recordDelivered(eventsUpTo number: Int64) async throws {
        try await self.write { tx in
            _ = try await tx.query("update event_state set delivered = $1 where id = 1 and delivered < $1", number)
        }
    }

    package func trimEvents(before date: Date, limit: Int) async throws -> (count: Int, undelivered: Int) {
        try await self.write { tx in
            guard let row = try await tx.query(Self.lockedState).first else { return (0, 0) }
            let (delivered, trimmed) = (try row.integer("delivered"), try row.integer("trimmed"))
            // The newest event is kept, so that no other event gets its number.
            let rows = try await tx.query(Self.oldestEvents, trimmed, limit)
            // The rows are in the order of their numbers, which is not exactly that of their
            // times. So rows before the last old row may be a little newer than `date`.
            let last = try rows.lastIndex { try $0.integer("at") < date.milliseconds }
            guard let last else { return (0, 0) }
            let (deleted, number) = (rows[...last], try rows[last].integer("number"))
            _ = try await tx.query("delete from event where number > $1 and number <= $2", trimmed, number)
            _ = try await tx.query("update event_state set trimmed = $1 where id = 1", number)
            let undelivered = try deleted.count { try $0.integer("kind") != 0 && $0.integer("number") > delivered }
            return (deleted.count, undelivered)
        }
    }

    private static let lockedState = "select delivered, trimmed from event_state where id = 1 for update"
    static let oldestEvents = """
        select number, at, kind from event where number > $1 and number < (select max(number) from event)
        order by number limit $2
        """

    // MARK: Reading

    package func events(
        after number: Int64?,
        ofSender sender: User?,
        limit: Int
    ) async throws(StoreError) -> EventPage {
        let (start, sealing) = (number ?? 0, self.sealing)
        let body = { (rows: Rows) throws -> EventPage in
            // If there are no events, the query returns one row that has only the numbers of
            // `event_state`.
            let events = try rows.filter { try $0.optionalInteger("number") != nil }
            return EventPage(
                try events.map { try StoredEvent($0, to: sender, sealing) },
                after: number,
                limit: limit,
                newest: try rows.first?.integer("newest") ?? 0,
                trimmed: try rows.first?.integer("trimmed") ?? 0
            )
        }
        // The query requests one event more than `limit`: the additional event shows that there
        // are more.
        if let sender { return try await self.read(Self.eventsOfSender, start, limit + 1, sender.id, as: body) }
        return try await self.read(Self.allEvents, start, limit + 1, as: body)
    }

    package static let delivered = "select delivered from event_state"

    package func eventBacklog() async throws(StoreError) -> (count: Int, oldest: Date?) {
        try await self.read(Self.backlog) { rows in
            guard let row = rows.first else { return (0, nil) }
            let count = try row.integer("newest") &- row.integer("start") &- row.integer("missing")
            return (max(0, Int(clamping: count)), try row.optionalDate("oldest"))
        }
    }

    private static let bySender = PairIndex(first: "sender_id", second: "number")

    static let allEvents = events(where: "number > $1 and kind <> 0", by: "number")
    static let eventsOfSender = events(where: bySender.rows(of: "$3", after: "$1"), by: bySender.order)

    /// Selects the columns of `StoredEvent`, and two numbers of `event_state`.
    private static func events(where condition: String, by order: String) -> String {
        """
        select e.number, e.at, e.kind, e.notification_id,
            (select v.id from device v where v.number = e.device), e.user_id,
            (select u.name from account u where u.id = e.user_id), e.platform, e.reason,
            (select coalesce(n.app, '\(AppName.usual)') from notification n where n.id = e.notification_id),
            (select coalesce(u.apps, '\(AppName.usual)') from account u where u.id = e.user_id), s.newest, s.trimmed
        from event_state s
        left join lateral (
            select number, at, kind, notification_id, device, user_id, platform, reason from event
            where \(condition) order by \(order) limit $2) as e on true
        order by e.number
        """
    }

    /// Selects the numbers that the count of undelivered events is computed from. When a server
    /// starts, it writes a row of kind 0, and numbers may be missing only directly before this
    /// row. The sum is the missing numbers plus the rows of kind 0; it is subtracted from the
    /// range of numbers, because none of these is an event.
    static let backlog = """
        with s as (select newest, greatest(delivered, trimmed) as start from event_state)
        select s.newest, s.start, (
            select coalesce(sum(b.number - greatest(b.before, s.start)), 0)::int8 from (
                select x.number, coalesce((select max(p.number) from event p where p.number < x.number), 0) as before
                from event x where x.kind = 0 and x.number > s.start) as b) as missing, (
            select e.at from event e where e.number > s.start and e.kind <> 0 order by e.number limit 1) as oldest
        from s
        """
}
