package import Foundation

/// The state that an unexpired notification has for one of its recipients.
package struct RecipientState: Sendable, Hashable {
    package let isReadOnce: Bool
    let hasPayload: Bool
    let isDismissed: Bool
    let isRead: Bool
    let isFetched: Bool
    /// When the recipient's lease of a read-once payload ends, or has ended. `nil` before the
    /// first fetch, and after the recipient has confirmed that it has the payload.
    let leasedUntil: Date?

    /// The columns, for queries that name the table of notifications `n`, that of recipients `r`,
    /// and that of leases `w`.
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

    /// The mark (read or unread) that the recipient sees; `nil` if the recipient does not see the
    /// notification.
    package var mark: ReadMark? {
        guard self.hasPayload, !self.isDismissed else { return nil }
        return self.isRead ? .read : .unread
    }

    /// Whether the recipient sees the notification and may dismiss it. If a mark (read or unread)
    /// is expected, the recipient must see the notification with this mark.
    package func mayDismiss(ifStill expected: ReadMark?) -> Bool {
        self.mark.map { expected == nil || expected == $0 } ?? false
    }
}

/// Decisions about a notification that may have expired, for a user who may be no recipient. In
/// both cases the state is `nil`.
extension RecipientState? {
    /// The outcome of a confirmation that the recipient has the payload. If it is `taken`, the
    /// store must end the lease.
    package var taking: TakeOutcome {
        guard let state = self else { return .missing }
        // If a user has dismissed the notification without fetching it, the user has never had the
        // payload.
        if state.isReadOnce, state.isDismissed { return state.isFetched ? .takenBefore : .missing }
        guard state.mark != nil else { return .missing }
        guard state.isReadOnce else { return .notReadOnce }
        return state.leasedUntil == nil ? .notFetched : .taken
    }

    /// The result of `NotificationStore.lease` if the store could not begin a lease.
    package func leased(_ now: Date) -> PayloadLease {
        guard let state = self, state.hasPayload, let end = state.leasedUntil else { return .refused }
        return end > now ? .held : .refused
    }
}

extension RecipientState {
    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.isReadOnce = try row.flag(Column.isReadOnce)
        self.hasPayload = try row.flag(Column.hasPayload)
        self.isDismissed = try row.flag(Column.isDismissed)
        self.isRead = try row.flag(Column.isRead)
        self.isFetched = try row.flag(Column.isFetched)
        self.leasedUntil = try row.optionalDate(Column.leasedUntil)
    }
}

extension ReadMark {
    /// The outcome of giving a notification this mark (read or unread), and whether the store must
    /// change the stored mark. `old` is the stored mark; it is `nil` if the user does not see the
    /// notification.
    package func decide(
        replacing old: ReadMark?,
        ifStill expected: ReadMark?
    ) -> (outcome: MarkOutcome, isChange: Bool) {
        guard let old else { return (.missing, false) }
        if let expected, expected != old { return (.changed, false) }
        // If the mark stays the same, the notification keeps its change number.
        return (.marked, old != self)
    }
}
