package import Foundation
package import PushCore

/// A row of `event`.
package struct StoredEvent: Sendable {
    package let number: Int64
    /// The event; `nil` if only a later version knows its kind, or if the reader may not read it.
    package let event: PushEvent?

    /// The columns, in the order that queries use. The device, the user and the notification may
    /// have been deleted; each store handles this in its own SQL.
    package enum Column: Int32, SelectedColumn {
        case number, at, kind, notificationID, device, userID, name, platform, reason, app, userApps

        package var sql: String {
            switch self {
            case .device: "v.id"
            case .name: "u.name"
            // The value is null if the notification was deleted.
            case .app: "(select coalesce(n.app, '\(AppName.usual)') from notification n where n.id = e.notification_id)"
            case .userApps: "case when u.id is not null then coalesce(u.apps, '\(AppName.usual)') end"
            default: "e.\(self.columnName)"
            }
        }
    }

    /// Reads an event's row. `sender` is the reader, if the reader may read only events of
    /// notifications that it has sent; otherwise `nil`.
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, to sender: User?, _ sealing: Sealing) throws {
        self.number = try row.integer(Column.number)
        let platform = try row.optionalText(Column.platform)
        let mayRead = try sender?.mayRead(
            eventOn: platform,
            of: row.optionalText(Column.app).flatMap { AppName($0) },
            fetchedBy: row.optionalText(Column.userApps).map { Set(storedApps: $0) }
        )
        guard mayRead ?? true, let kind = PushEvent.Kind(code: try row.integer(Column.kind)) else {
            self.event = nil
            return
        }
        let user = try row.optionalInteger(Column.userID) ?? 0
        self.event = PushEvent(
            number: self.number,
            at: try row.date(Column.at),
            kind: kind,
            notification: try row.optionalInteger(Column.notificationID).flatMap { NotificationID(rawValue: $0) },
            device: try row.optionalText(Column.device).flatMap { RegistrationID($0) },
            // If the name is damaged, the event lacks it: the receiver must still get all later
            // events.
            user: try row.optionalData(Column.name).flatMap { try? sealing.username($0, ofUser: user) },
            platform: platform,
            reason: try row.optionalText(Column.reason)
        )
    }
}

extension EventPage {
    /// The page after a number. If there is a next page, `rows` has one row more than `limit`.
    /// `newest` is the number of the newest event, and `trimmed` that of the last deleted event.
    package init(_ rows: [StoredEvent], after number: Int64?, limit: Int, newest: Int64, trimmed: Int64) {
        let (hasMore, shown, start) = (rows.count > limit, rows.prefix(limit), number ?? 0)
        self.init(
            events: shown.compactMap(\.event),
            // After the last page, the reader continues after the newest event, even if this event
            // belongs to another sender. Otherwise a reader with few events would later appear to
            // have missed events of other senders that were deleted meanwhile.
            end: hasMore ? shown.last?.number ?? start : max(start, newest),
            hasMore: hasMore,
            isTruncated: number.map { $0 < trimmed } ?? false
        )
    }
}

extension PushEvent.Kind {
    /// The number that stands for the kind in the database.
    package var code: Int64 {
        switch self {
        case .accepted: 1
        case .failed: 2
        case .expired: 3
        case .cancelled: 4
        case .collected: 5
        case .retired: 6
        }
    }

    /// The kind with this number; `nil` for 0, which stands for a server's start, and for a number
    /// that this version does not know.
    package init?(code: Int64) {
        guard let kind = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = kind
    }
}

/// The numbers that stores assign to events.
package enum EventNumbers {
    /// Each millisecond since 1970 has 2^10 event numbers, more than a server uses. So after a
    /// restart, all new numbers are above the earlier ones, even if the database was restored from
    /// a backup. Until the year 2248, all numbers are below 2^53, the limit of many JSON readers.
    private static let perMillisecond = 10

    /// A server that starts now assigns numbers after this number, unless the database already
    /// contains higher numbers.
    package static func first(at now: Date) -> Int64 {
        // The result is between 0 and 2^53, however wrong the clock is.
        min(max(now.milliseconds, 0), 1 << 43) << Self.perMillisecond
    }
}
