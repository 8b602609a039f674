internal import Foundation
internal import PushCore

/// The last code that was pushed to a handle for one user.
package struct Confirmation: Sendable {
    let pushedAt: Date
    let isUsed: Bool
    let notification: Int64
    let failures: Int64
    /// The seed of the code's notification; `nil` if that notification was deleted. Then there is
    /// no valid code.
    let seed: Int64?

    func isExpired(_ now: Date) -> Bool { now >= self.pushedAt + HandleClaim.lifetime.timeInterval }

    /// Whether the code, if the user returned it now, would register the handle.
    func isGood(_ now: Date) -> Bool {
        !self.isUsed && !self.isExpired(now) && self.failures < HandleClaim.attempts && self.seed != nil
    }

    func isJustPushed(_ now: Date) -> Bool { now < self.pushedAt + HandleClaim.interval.timeInterval }

    /// The earliest time for the push of the next code. If the last push was cancelled before it
    /// was due, the next code is pushed at the time at which that push was due.
    func nextPush(_ now: Date) -> Date {
        self.pushedAt > now ? self.pushedAt : max(now, self.pushedAt + HandleClaim.interval.timeInterval)
    }

    func code(_ key: Data, _ sealing: Sealing) -> ConfirmationCode? {
        self.seed.map { sealing.codes.code(of: self.notification, seed: $0, claim: key) }
    }
}

extension Confirmation {
    package enum Column: Int32, SelectedColumn {
        case pushedAt, isUsed, notificationID, failures, seed

        package var sql: String { self == .seed ? "n.seed" : "c.\(self.columnName)" }
    }

    package static let select = """
        select \(Column.list) from confirmation c left join notification n on n.id = c.notification_id
        """

    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.pushedAt = try row.date(Column.pushedAt)
        self.isUsed = try row.flag(Column.isUsed)
        self.notification = try row.integer(Column.notificationID)
        self.failures = try row.integer(Column.failures)
        self.seed = try row.optionalInteger(Column.seed)
    }
}
