internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// A broadcast that has not yet reached all its devices: a row of `fanout`.
struct RunningBroadcast {
    let target: PushTarget
    var walk: AudienceWalk
    private var isRecalled = false

    init(target: PushTarget, walk: AudienceWalk) {
        self.target = target
        self.walk = walk
    }

    /// Reads the row; `nil` if there is none. Throws if the row is damaged.
    init?(_ db: Database, _ id: Int64, by pusher: Pusher) throws {
        let sealing = pusher.sealing
        let row = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    select f.*, n.expires_at, n.recalled_at, n.collapse_id, n.is_read_once, n.sequence, n.app
                    from fanout f join notification n on n.id = f.notification_id where f.notification_id = ?
                    """
            ),
            arguments: [id]
        )
        guard let row else { return nil }
        self.target = try PushTarget(
            id: id,
            sequence: row["sequence"],
            collapseID: row["collapse_id"],
            isReadOnce: row["is_read_once"],
            expiresAt: Date(milliseconds: row["expires_at"]),
            audience: HashedAudience(Self.audience(of: row, sealing), sealing.index, pusher.tags)
        )
        self.walk = try AudienceWalk(branch: row["branch"], cursor: row["cursor"])
        self.isRecalled = try (row["recalled_at"] as Int64?) != nil
        guard self.target.audience.branches.indices.contains(self.walk.branch) else {
            throw StoreError.damaged(row: "broadcast \(id)")
        }
    }

    /// Whether its pushes must still be sent.
    func isWanted(_ now: Date) -> Bool {
        !self.isRecalled && self.target.expiresAt > now
    }

    /// Inserts the row, with the position from which the walk continues.
    func insert(_ db: Database, _ sealing: Sealing) throws {
        let audience = self.target.audience.audience
        try db.run(
            prepared: """
                insert into fanout (notification_id, expressions, platforms, branch, cursor) values (?, ?, ?, ?, ?)
                """,
            self.target.id,
            try sealing.seal(audience.expressions.map(\.description), in: .expressions(self.target.id)),
            try audience.platformNames,
            self.walk.branch,
            self.walk.cursor
        )
    }

    private static func audience(of row: Row, _ sealing: Sealing) throws -> Audience {
        let expressions = try sealing.texts(row["expressions"], in: .expressions(row["notification_id"]))
        let app = try AppName(stored: row["app"])
        return try Audience(expressions: expressions, of: app, platformNames: row["platforms"])
    }
}
