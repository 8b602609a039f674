internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// The facts of a notification that decide about its pushes. One lease often has hundreds of its
/// pushes, so this is read, and its alert decrypted, once for all of them.
struct DueNotification {
    let sender: Int64
    let isRecalled: Bool
    let seed: Int64
    /// The notification's place in the order of notifications.
    let sequence: Int64
    let expiresAt: Int64
    let priority: String
    let collapseID: String?
    /// The text that its pushes show; `nil`: the constants of the lane's sender.
    let alert: Result<PushAlert, VaultError>?

    private init(_ row: Row, id: Int64, _ sealing: Sealing) throws {
        let sender = try row.integer(1)
        self.sender = sender
        self.isRecalled = try row.boolean(2)
        self.seed = try row.integer(3)
        self.sequence = try row.integer(4)
        self.expiresAt = try row.integer(5)
        self.priority = try row.text(6)
        self.collapseID = try row.optionalText(7)
        self.alert = try row.optionalData(8).map { sealed in
            Result { () throws(VaultError) in try sealing.alert(sealed, of: id, sender: sender) }
        }
    }

    /// The notifications with these ids; missing ids are left out.
    static func all(_ ids: Set<Int64>, _ tx: WriteTransaction) async throws -> [Int64: DueNotification] {
        if ids.isEmpty { return [:] }
        let rows = try await tx.query(Self.selectNotifications, Array(ids))
        var found: [Int64: DueNotification] = [:]
        for row in rows.map({ $0 }) {
            let id = try row.integer(0)
            found[id] = try DueNotification(row, id: id, tx.sealing)
        }
        return found
    }

    static let selectNotifications = """
        select n.id, n.sender_id, n.recalled_at is not null, n.seed, n.sequence, n.expires_at, n.priority, n.collapse_id, n.alert
        from notification n where n.id = any($1::int8[])
        """
}
