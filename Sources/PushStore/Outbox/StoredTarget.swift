package import Foundation
package import PushCore

/// A notification whose devices are still to be found. Its audience is in a row of `fanout` or
/// `scheduled`.
package struct StoredTarget: Sendable {
    package let id: Int64
    package let sender: Int64
    package let isReadOnce: Bool
    private let isEndToEnd: Bool
    package let sequence: Int64
    private let app: AppName
    private let collapseID: String?
    private let expiresAt: Date
    private let isRecalled: Bool
    private let expressions: Data
    private let platforms: String?

    /// The columns, for queries that name this row `t`, and the notification `n`.
    package enum Column: Int32, SelectedColumn {
        case notificationID, senderID, isReadOnce, sequence, app, collapseID, expiresAt, isRecalled, expressions
        case platforms, isEndToEnd

        package var sql: String {
            switch self {
            case .isRecalled: "n.recalled_at is not null"
            case .notificationID, .expressions, .platforms: "t.\(self.columnName)"
            default: "n.\(self.columnName)"
            }
        }
    }

    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.id = try row.integer(Column.notificationID)
        self.sender = try row.integer(Column.senderID)
        self.isReadOnce = try row.flag(Column.isReadOnce)
        self.isEndToEnd = try row.flag(Column.isEndToEnd)
        self.sequence = try row.integer(Column.sequence)
        self.app = AppName(stored: try row.optionalText(Column.app))
        self.collapseID = try row.optionalText(Column.collapseID)
        self.expiresAt = try row.date(Column.expiresAt)
        self.isRecalled = try row.flag(Column.isRecalled)
        self.expressions = try row.data(Column.expressions)
        self.platforms = try row.optionalText(Column.platforms)
    }

    /// Whether the notification's pushes must still be sent.
    package func isWanted(_ now: Date) -> Bool { !self.isRecalled && self.expiresAt > now }

    /// Decrypts the audience. Throws if the row is damaged.
    package func audience(_ sealing: Sealing, _ tags: TagPolicy, in place: SealedPlace) throws -> HashedAudience {
        let expressions = try sealing.texts(self.expressions, in: place)
        let audience = try Audience(expressions: expressions, of: self.app, platformNames: self.platforms)
        return HashedAudience(audience, sealing.index, tags)
    }

    /// The notification with its audience, for enqueuing its pushes. `sequence`: its new position
    /// in the order of notifications; `nil`: the position stays the same.
    package func target(to audience: HashedAudience, sequence: Int64? = nil) -> PushTarget {
        PushTarget(
            id: self.id,
            sequence: sequence ?? self.sequence,
            collapseID: self.collapseID,
            isReadOnce: self.isReadOnce,
            isEndToEnd: self.isEndToEnd,
            expiresAt: self.expiresAt,
            audience: audience
        )
    }
}

/// A broadcast that has not yet reached all its devices: a row of `fanout`.
package struct RunningBroadcast: Sendable {
    package let notification: StoredTarget
    /// The position from which the fan-out continues.
    package var walk: AudienceWalk

    private enum Column: Int32, SelectedColumn {
        case branch = 11, cursor

        var sql: String { "t.\(self.columnName)" }
    }

    /// The columns to select. The query must give its tables the same aliases as a query for
    /// `StoredTarget`.
    package static let columns = "\(StoredTarget.Column.list), \(Self.Column.list)"

    package init<Row: StoredRow & ~Copyable>(_ row: borrowing Row) throws {
        self.notification = try StoredTarget(row)
        self.walk = AudienceWalk(
            branch: Int(clamping: try row.integer(Column.branch)),
            cursor: try row.integer(Column.cursor)
        )
    }

    /// The notification with its audience, for enqueuing its pushes. Throws if the row is damaged.
    package func target(_ sealing: Sealing, _ tags: TagPolicy) throws -> PushTarget {
        let id = self.notification.id
        let audience = try self.notification.audience(sealing, tags, in: .expressions(id))
        guard audience.branches.indices.contains(self.walk.branch) else {
            throw StoreError.damaged(row: "broadcast \(id)")
        }
        return self.notification.target(to: audience)
    }
}
