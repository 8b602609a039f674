internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A broadcast that has not yet reached all its devices: a row of `fanout`.
struct RunningBroadcast {
    let id: Int64
    var walk: AudienceWalk
    private let target: PushTarget.Columns
    private let app: AppName
    private let isRecalled: Bool
    private let expressions: Data
    private let platforms: String?

    /// Reads and locks the oldest row that no other server works on; `nil` if there is none.
    init?(_ tx: WriteTransaction) async throws {
        guard let row = try await tx.query(Self.oldest).first else { return nil }
        self.id = try row.integer(0)
        self.expressions = try row.data(1)
        self.platforms = try row.optionalText(2)
        self.walk = AudienceWalk(branch: Int(clamping: try row.integer(3)), cursor: try row.integer(4))
        self.isRecalled = try row.boolean(5)
        self.app = AppName(stored: try row.optionalText(6))
        self.target = try PushTarget.Columns(row, from: 7)
    }

    /// Needs no index: few broadcasts run at a time.
    static let oldest = """
        select f.notification_id, f.expressions, f.platforms, f.branch, f.cursor, n.recalled_at is not null, n.app,
            n.collapse_id, n.is_read_once, n.expires_at, n.sequence
        from fanout f join notification n on n.id = f.notification_id
        where not f.is_set_aside order by n.sequence, n.created_at limit 1 for update of f skip locked
        """

    /// Whether its pushes must still be sent.
    func isWanted(_ now: Date) -> Bool {
        !self.isRecalled && self.target.expiresAt > now
    }

    /// The notification as it is pushed. Throws if the row is damaged.
    func target(_ sealing: Sealing, _ tags: TagPolicy) throws -> PushTarget {
        let expressions = try sealing.texts(self.expressions, in: .expressions(self.id))
        let audience = try Audience(expressions: expressions, of: self.app, platformNames: self.platforms)
        let hashed = HashedAudience(audience, sealing.index, tags)
        guard hashed.branches.indices.contains(self.walk.branch) else {
            throw StoreError.damaged(row: "broadcast \(self.id)")
        }
        return self.target.target(self.id, sequence: self.target.sequence, to: hashed)
    }

    /// Inserts a row, with the position from which the walk continues.
    static func insert(
        _ target: PushTarget,
        from walk: AudienceWalk,
        _ tx: WriteTransaction
    ) async throws {
        let audience = target.audience.audience
        _ = try await tx.query(
            """
            insert into fanout (notification_id, expressions, platforms, branch, cursor) values ($1, $2, $3, $4, $5)
            """,
            target.id,
            try tx.sealing.seal(
                audience.expressions.map(\.description),
                in: .expressions(target.id),
                until: target.expiresAt
            ),
            try audience.platformNames,
            walk.branch,
            walk.cursor
        )
    }

    /// Stores the position from which the walk continues.
    func save(_ tx: WriteTransaction) async throws {
        _ = try await tx.query(
            "update fanout set branch = $2, cursor = $3 where notification_id = $1",
            self.id,
            self.walk.branch,
            self.walk.cursor
        )
    }

    func setAside(_ tx: WriteTransaction) async throws {
        _ = try await tx.query("update fanout set is_set_aside = true where notification_id = $1", self.id)
    }

    /// Ends it before it has reached all its devices.
    func stop(_ tx: WriteTransaction) async throws {
        _ = try await tx.query("delete from fanout where notification_id = $1", self.id)
    }

    /// Ends it after its last page.
    func end(_ tx: WriteTransaction) async throws {
        try await self.stop(tx)
        // All recipients may have taken the payload before the broadcast ended.
        if self.target.isReadOnce { try await PostgreSQLStore.eraseIfTaken(tx, [self.id]) }
    }
}

extension PushTarget {
    /// The columns of a notification's row that its pushes need.
    struct Columns {
        let collapseID: String?
        let isReadOnce: Bool
        let expiresAt: Date
        let sequence: Int64

        init(_ row: Row, from column: Int) throws {
            self.collapseID = try row.optionalText(column)
            self.isReadOnce = try row.boolean(column + 1)
            self.expiresAt = Date(milliseconds: try row.integer(column + 2))
            self.sequence = try row.integer(column + 3)
        }

        func target(_ id: Int64, sequence: Int64, to audience: HashedAudience) -> PushTarget {
            PushTarget(
                id: id,
                sequence: sequence,
                collapseID: self.collapseID,
                isReadOnce: self.isReadOnce,
                expiresAt: self.expiresAt,
                audience: audience
            )
        }
    }
}
