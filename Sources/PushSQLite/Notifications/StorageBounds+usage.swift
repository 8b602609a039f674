internal import PushStore
internal import SQLite

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
}
