package import Foundation
package import PushCore

/// Adds entries to a page of a user's changes until the page is full.
package struct PageBuilder {
    /// The maximum number of rows that are read for one page. The page may leave most of them out.
    package static let maximumRows = 1000

    package private(set) var page: NotificationPage
    private let range: ChangeRange
    private let budget: PageBudget
    private let now: Date
    private var rows = 0
    /// The number of payload bytes so far.
    private var bytes = 0

    package init(_ range: ChangeRange, within budget: PageBudget, now: Date) {
        self.page = NotificationPage(end: range.start ?? 0)
        (self.range, self.budget, self.now) = (range, budget, now)
    }

    /// Adds the next row of a user's changes to the page. Returns `false` if the page is full
    /// before this row.
    package mutating func take<Row: StoredRow & ~Copyable>(
        _ row: borrowing Row,
        for user: Int64,
        _ macs: RowMAC
    ) throws -> Bool {
        guard self.beginRow() else { return false }
        guard AppName(stored: try row.optionalText(ChangeColumn.app)) == self.range.app else {
            // The next page begins after this change, so that no page reads its row again.
            self.page.end = try row.integer(ChangeColumn.change)
            return true
        }
        let entry = try NotificationPage.Entry(row, for: user, macs, isUnreadOnly: self.range.isUnreadOnly)
        return self.add(entry, changedAt: try row.date(ChangeColumn.changedAt))
    }

    /// Counts a row; the caller must call this before it reads the row. Returns `false` if the
    /// page ends before this row.
    private mutating func beginRow() -> Bool {
        if self.rows == Self.maximumRows { return self.end(\.hasMore) }
        self.rows += 1
        return self.rows <= self.budget.rows || self.end(\.isBeyondBudget)
    }

    /// Adds the entry of a row if the page shows it. Returns `false` if the page ends before this
    /// row.
    private mutating func add(_ entry: NotificationPage.Entry, changedAt: Date) -> Bool {
        guard entry.expiresAt > self.now else {
            self.pass(entry)
            return true
        }
        if self.page.entries.count == self.range.limit { return self.end(\.hasMore) }
        // A notification that is gone is shown only if the client has requested the changes after
        // a number. Such a client may still have the notification.
        if !entry.isGone || self.range.start != nil {
            self.bytes += entry.payloadLength
            let isTooLong = self.bytes > NotificationPage.maximumBytes
            if isTooLong, !self.page.entries.isEmpty { return self.end(\.hasMore) }
            if self.bytes > self.budget.bytes { return self.end(\.isBeyondBudget) }
            self.page.entries.append(entry)
        }
        self.page.changedAt = max(self.page.changedAt, changedAt)
        self.page.end = entry.change
        return true
    }

    private mutating func pass(_ expired: NotificationPage.Entry) {
        self.page.changedAt = max(self.page.changedAt, expired.expiresAt)
        // If the page ended at an expired row, it would have another end once that row is deleted.
        // So it ends there only if it has read the maximum number of rows.
        if self.rows == Self.maximumRows { self.page.end = expired.change }
    }

    private mutating func end(_ reason: WritableKeyPath<NotificationPage, Bool>) -> Bool {
        self.page[keyPath: reason] = true
        return false
    }
}
