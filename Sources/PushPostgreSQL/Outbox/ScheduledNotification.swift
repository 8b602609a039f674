internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A notification that is sent later: a row of `scheduled`.
struct ScheduledNotification {
    let id: Int64
    let sender: Int64
    private let app: AppName
    private let columns: PushTarget.Columns
    private let isRecalled: Bool
    private let expressions: Data
    private let platforms: String?

    /// Reads and locks the next due rows, and their notifications. Skips rows that another server
    /// sends or recalls.
    static func due(_ tx: WriteTransaction, limit: Int, now: Date) async throws -> [ScheduledNotification] {
        try await tx.query(Self.next, now.milliseconds, limit).map { row in
            ScheduledNotification(
                id: try row.integer(0),
                sender: try row.integer(1),
                app: AppName(stored: try row.optionalText(2)),
                columns: try PushTarget.Columns(row, from: 6),
                isRecalled: try row.boolean(3),
                expressions: try row.data(4),
                platforms: try row.optionalText(5)
            )
        }
    }

    static let next = """
        select s.notification_id, n.sender_id, n.app, n.recalled_at is not null, s.expressions, s.platforms,
            n.collapse_id, n.is_read_once, n.expires_at, n.sequence
        from scheduled s join notification n on n.id = s.notification_id
        where not s.is_set_aside and s.due_at <= $1 order by s.due_at, s.sequence limit $2
        for update of s skip locked for no key update of n skip locked
        """

    static let first = "select due_at from scheduled where not is_set_aside order by due_at limit 1"

    /// Whether it must still be sent.
    func isWanted(_ now: Date) -> Bool {
        !self.isRecalled && self.columns.expiresAt > now
    }

    /// The notification's present audience. Throws if the row is damaged.
    func audience(_ sealing: Sealing, _ tags: TagPolicy) throws -> HashedAudience {
        let expressions = try sealing.texts(self.expressions, in: .scheduled(self.id))
        let audience = try Audience(expressions: expressions, of: self.app, platformNames: self.platforms)
        return HashedAudience(audience, sealing.index, tags)
    }

    /// The notification as it is pushed from now on.
    func target(sequence: Int64, to audience: HashedAudience) -> PushTarget {
        self.columns.target(self.id, sequence: sequence, to: audience)
    }
}
