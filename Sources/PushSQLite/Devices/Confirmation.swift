internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// The last code that was pushed to a handle for a user.
struct Confirmation {
    let pushedAt: Date
    let isUsed: Bool
    private let notification: Int64
    private let failures: Int64
    /// `nil` if the notification is gone, and the code with it.
    private let seed: Int64?

    init?(_ db: Database, _ key: Data) throws {
        let last = try db.first(
            prepared: """
                select c.pushed_at, c.is_used, c.notification_id, c.failures, n.seed
                from confirmation c left join notification n on n.id = c.notification_id
                where c.handle_key = ?
                """,
            key
        ) { Confirmation($0) }
        guard let last else { return nil }
        self = last
    }

    private init(_ row: borrowing DirectRow) {
        self.pushedAt = Date(milliseconds: row.integer(0))
        self.isUsed = row.integer(1) != 0
        self.notification = row.integer(2)
        self.failures = row.integer(3)
        self.seed = row.isNull(4) ? nil : row.integer(4)
    }

    func isExpired(_ now: Date) -> Bool { now >= self.pushedAt + HandleClaim.lifetime.timeInterval }

    /// Whether the code would register the handle.
    func isGood(_ now: Date) -> Bool {
        !self.isUsed && !self.isExpired(now) && self.failures < HandleClaim.attempts && self.seed != nil
    }

    func isJustPushed(_ now: Date) -> Bool { now < self.pushedAt + HandleClaim.interval.timeInterval }

    /// When the next code may be pushed. A push that is still to come was cancelled, and the next one takes its time.
    func nextPush(_ now: Date) -> Date {
        self.pushedAt > now ? self.pushedAt : max(now, self.pushedAt + HandleClaim.interval.timeInterval)
    }

    func code(_ key: Data, _ sealing: Sealing) -> ConfirmationCode? {
        self.seed.map { sealing.codes.code(of: self.notification, seed: $0, claim: key) }
    }
}
