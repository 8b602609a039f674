internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// A notification that is sent later: a row of `scheduled`.
struct ScheduledNotification {
    let id: Int64
    let sender: Int64
    let app: AppName
    private let collapseID: String?
    private let isReadOnce: Bool
    private let expiresAt: Date
    private let isRecalled: Bool
    private let expressions: Data
    private let platforms: String?

    /// The next rows that are due.
    static func due(_ db: Database, limit: Int, now: Date) throws -> [ScheduledNotification] {
        try db.all(prepared: Self.next, now.milliseconds, limit) { row in
            ScheduledNotification(
                id: row.integer(0),
                sender: row.integer(1),
                app: AppName(stored: row.optionalText(8)),
                collapseID: row.optionalText(2),
                isReadOnce: row.integer(3) != 0,
                expiresAt: Date(milliseconds: row.integer(4)),
                isRecalled: !row.isNull(5),
                expressions: row.data(6),
                platforms: row.optionalText(7)
            )
        }
    }

    static let next = """
        select s.notification_id, n.sender_id, n.collapse_id, n.is_read_once, n.expires_at, n.recalled_at, s.expressions,
            s.platforms, n.app
        from scheduled s cross join notification n on n.id = s.notification_id
        where s.is_set_aside = 0 and s.due_at <= ? order by s.due_at, s.sequence limit ?
        """

    /// When the next one is due; `nil` if there is none.
    static func nextDue(_ db: Database) throws -> Date? {
        try db.first(prepared: Self.first) { Date(milliseconds: $0.integer(0)) }
    }

    static let first = "select due_at from scheduled where is_set_aside = 0 order by due_at limit 1"

    static func insert(
        _ notification: NewNotification,
        dueAt: Date,
        sequence: Int64,
        _ sealing: Sealing,
        _ db: Database
    ) throws {
        let (audience, id) = (notification.audience, notification.id.rawValue)
        try db.run(
            prepared: """
                insert into scheduled (notification_id, due_at, sequence, expressions, platforms) values (?, ?, ?, ?, ?)
                """,
            id,
            dueAt.milliseconds,
            sequence,
            try sealing.seal(audience.expressions.map(\.description), in: .scheduled(id)),
            try audience.platformNames
        )
    }

    /// Whether it must still be sent.
    func isWanted(_ now: Date) -> Bool {
        !self.isRecalled && self.expiresAt > now
    }

    /// The notification as it is pushed from now on. Throws if the row is damaged.
    func target(sequence: Int64, by pusher: Pusher) throws -> PushTarget {
        let expressions = try pusher.sealing.texts(self.expressions, in: .scheduled(self.id))
        let audience = try Audience(expressions: expressions, of: self.app, platformNames: self.platforms)
        return PushTarget(
            id: self.id,
            sequence: sequence,
            collapseID: self.collapseID,
            isReadOnce: self.isReadOnce,
            expiresAt: self.expiresAt,
            audience: HashedAudience(audience, pusher.sealing.index, pusher.tags)
        )
    }
}
