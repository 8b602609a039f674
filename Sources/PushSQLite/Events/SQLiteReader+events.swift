internal import Foundation
internal import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func events(
        after number: Int64?,
        ofSender sender: User?,
        limit: Int
    ) throws(StoreError) -> EventPage {
        let start = number ?? 0
        return try self.read { db in
            // One row more than requested shows whether there are more.
            let rows: [(number: Int64, event: PushEvent?)] =
                if let sender {
                    try db.all(prepared: Self.eventsOfSender, start, limit + 1, sender.id) { row in
                        let (number, event) = self.event(row)
                        return (number, Self.mayRead(row, sender) ? event : nil)
                    }
                } else {
                    try db.all(prepared: Self.allEvents, start, limit + 1, decode: self.event)
                }
            let hasMore = rows.count > limit
            let shown = rows.prefix(limit)
            let newest = try Self.value(db, "select coalesce(max(number), 0) from event")
            let trimmed = try Self.value(db, "select trimmed from event_state")
            return EventPage(
                events: shown.compactMap(\.event),
                // A reader of few events of its own must not fall behind the deleted events.
                end: hasMore ? shown.last?.number ?? start : max(start, newest),
                hasMore: hasMore,
                isTruncated: number.map { $0 < trimmed } ?? false
            )
        }
    }

    package func lastDeliveredEvent() throws(StoreError) -> Int64 {
        try self.read { try Self.value($0, "select delivered from event_state") }
    }

    package func eventBacklog() throws(StoreError) -> EventBacklog {
        try self.read { db in
            let start = try Self.value(db, "select max(delivered, trimmed) from event_state")
            let newest = try Self.value(db, "select coalesce(max(number), 0) from event")
            // Numbers have gaps only before the starts of processes.
            let gaps = try db.all(prepared: Self.gaps, start) { row in
                row.integer(0) &- max(row.integer(1), start)
            }
            let count = gaps.reduce(newest &- start) { $0 &- $1 }
            let oldest = try db.first(prepared: Self.oldestEvent, start) { Date(milliseconds: $0.integer(0)) }
            return EventBacklog(count: max(0, Int(clamping: count)), oldest: oldest)
        }
    }

    // MARK: - Private

    private static func value(_ db: Database, _ query: String) throws -> Int64 {
        try db.first(prepared: query) { $0.integer(0) } ?? 0
    }

    static let allEvents = events(where: "e.kind <> 0")
    static let eventsOfSender = events(where: "e.sender_id = ?3")

    private static func events(where condition: String) -> String {
        """
        select \(EventColumn.list) from event e
        left join device v on v.number = e.device left join user u on u.id = e.user_id
        where e.number > ?1 and \(condition) order by e.number limit ?2
        """
    }

    /// The starts of processes after a number, each with the number before it.
    static let gaps = """
        select s.number, coalesce((select max(p.number) from event p where p.number < s.number), 0)
        from event s where s.kind = 0 and s.number > ?1
        """

    static let oldestEvent = "select at from event where number > ?1 and kind <> 0 order by number limit 1"

    private static func mayRead(_ row: borrowing DirectRow, _ sender: User) -> Bool {
        sender.mayRead(
            eventOn: row.optionalText(EventColumn.platform),
            of: row.optionalText(EventColumn.app).flatMap { AppName($0) },
            fetchedBy: row.optionalText(EventColumn.userApps).map { Set(storedApps: $0) }
        )
    }

    private func event(_ row: borrowing DirectRow) -> (number: Int64, event: PushEvent?) {
        let number = row.integer(EventColumn.number)
        // The reader skips a kind that only a later version knows.
        guard let kind = PushEvent.Kind(code: row.integer(EventColumn.kind)) else { return (number, nil) }
        let user = row.integer(EventColumn.user)
        let event = PushEvent(
            number: number,
            at: Date(milliseconds: row.integer(EventColumn.at)),
            kind: kind,
            notification: NotificationID(rawValue: row.integer(EventColumn.notification)),
            device: row.optionalText(EventColumn.device).flatMap { RegistrationID($0) },
            // A damaged name must not keep all later events from the receiver.
            user: row.isNull(EventColumn.name)
                ? nil : try? self.sealing.username(row.data(EventColumn.name), ofUser: user),
            platform: row.optionalText(EventColumn.platform),
            reason: row.optionalText(EventColumn.reason)
        )
        return (number, event)
    }
}

private enum EventColumn: Int32, SelectedColumn {
    case number, at, kind, notification, device, user, name, platform, reason, app, userApps

    var sql: String {
        switch self {
        case .number: "e.number"
        case .at: "e.at"
        case .kind: "e.kind"
        case .notification: "e.notification_id"
        case .device: "v.id"
        case .user: "e.user_id"
        case .name: "u.name"
        case .platform: "e.platform"
        case .reason: "e.reason"
        // The value is null without the row.
        case .app: "(select coalesce(n.app, '\(AppName.usual)') from notification n where n.id = e.notification_id)"
        case .userApps: "case when u.id is not null then coalesce(u.apps, '\(AppName.usual)') end"
        }
    }
}
