package import Foundation

/// The state of a notification that has not expired, for one of its recipients.
package struct RecipientState: Sendable, Hashable {
    package let isReadOnce: Bool
    let hasPayload: Bool
    let isDismissed: Bool
    let isRead: Bool
    let isFetched: Bool
    /// When the lease of a read-once payload ends or has ended; `nil` before the first fetch, and
    /// once the recipient has taken the payload.
    let leasedUntil: Date?

    /// The columns, in a query that calls the notification's table `n`, the recipient's `r` and
    /// the lease's `w`.
    package enum Column: Int32, SelectedColumn {
        case isReadOnce, hasPayload, isDismissed, isRead, isFetched, leasedUntil

        package var sql: String {
            switch self {
            case .isReadOnce: "n.is_read_once"
            case .hasPayload: "n.payload is not null"
            case .isDismissed: "r.dismissed_at is not null"
            case .isRead: "r.read_at is not null"
            case .isFetched: "r.fetched_at is not null"
            case .leasedUntil: "w.leased_until"
            }
        }
    }

    /// The mark that the recipient sees; `nil` if it does not see the notification.
    package var mark: ReadMark? {
        guard self.hasPayload, !self.isDismissed else { return nil }
        return self.isRead ? .read : .unread
    }

    /// Whether the recipient sees the notification with the expected mark, if any, and may dismiss
    /// it.
    package func mayDismiss(ifStill expected: ReadMark?) -> Bool {
        self.mark.map { expected == nil || expected == $0 } ?? false
    }

    /// The outcome of taking the payload; the store ends the lease if the outcome is `taken`.
    package var taking: TakeOutcome {
        // A user who has dismissed the notification without fetching it has never had the payload.
        if self.isReadOnce, self.isDismissed { return self.isFetched ? .takenBefore : .missing }
        guard self.mark != nil else { return .missing }
        guard self.isReadOnce else { return .notReadOnce }
        return self.leasedUntil == nil ? .notFetched : .taken
    }

    /// The outcome of `lease` if no lease could begin.
    package func leased(_ now: Date) -> PayloadLease {
        self.hasPayload && self.leasedUntil.map { $0 > now } ?? false ? .held : .refused
    }
}

extension RecipientState {
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.isReadOnce = try row.flag(Column.isReadOnce)
        self.hasPayload = try row.flag(Column.hasPayload)
        self.isDismissed = try row.flag(Column.isDismissed)
        self.isRead = try row.flag(Column.isRead)
        self.isFetched = try row.flag(Column.isFetched)
        self.leasedUntil = try row.optionalInteger(Column.leasedUntil).map(Date.init(milliseconds:))
    }
}

extension ReadMark {
    /// The outcome of giving a notification this mark; `nil` if the stored mark must be changed
    /// for that. `old` is the present mark, and `nil` if the user does not see the notification.
    package func outcome(replacing old: ReadMark?, ifStill expected: ReadMark?) -> MarkOutcome? {
        guard let old else { return .missing }
        if let expected, expected != old { return .changed }
        // If the user sees no change, the notification keeps its change number.
        return old == self ? .marked : nil
    }
}
