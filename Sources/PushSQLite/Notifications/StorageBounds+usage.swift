internal import GRDB
internal import PushStore

extension StorageBounds {
    /// The limit that the sender would exceed with one more payload; `nil` if it may be stored.
    ///
    /// Reads one row, which the post changes anyway (see `usage` in the schema).
    func excess(_ db: Database, of sender: Int64, adding payload: Int) throws -> StorageExcess? {
        let stored = try db.first(prepared: "select notifications, bytes from usage where user_id = ?", sender) {
            (Int($0.integer(0)), Int($0.integer(1)))
        }
        let (count, bytes) = stored ?? (0, 0)
        return self.excess(notifications: count, bytes: bytes, adding: payload)
    }

    /// Whether a user has the maximum number of devices, not counting one that a registration is
    /// about to replace.
    func isUsedUp(_ db: Database, byDevicesOf user: Int64, butFor replaced: Int64?) throws -> Bool {
        let count = try Int.fetchOne(
            db.cachedStatement(
                sql: """
                    select count(*) from (
                        select 1 from device
                        where user_id = ? and handle is not null and claims_for is null and number is not ? limit ?)
                    """
            ),
            arguments: [user, replaced, self.devices]
        )
        return (count ?? 0) >= self.devices
    }
}
