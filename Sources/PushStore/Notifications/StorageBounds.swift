internal import GRDB

/// What a user may have in the database at a time.
package struct StorageBounds: Sendable, Hashable {
    package static let deviceRange = 1...1_000_000
    package static let notificationRange = 1...1_000_000_000
    package static let byteRange = 1...1_099_511_627_776

    /// Registrations that live.
    package let devices: Int
    /// Notifications that the user has sent and that have not expired, recalled ones included.
    package let notifications: Int
    /// Bytes of their payloads, as they are stored.
    package let bytes: Int

    /// `nil` outside of the ranges.
    package init?(devices: Int, notifications: Int, bytes: Int) {
        guard
            Self.deviceRange.contains(devices), Self.notificationRange.contains(notifications),
            Self.byteRange.contains(bytes)
        else { return nil }
        self.devices = devices
        self.notifications = notifications
        self.bytes = bytes
    }
}

/// What a user has as much of as it may.
package enum StorageExcess: Sendable, Hashable {
    case notifications
    case bytes
}

extension StorageBounds {
    /// What the sender would have too much of with one more payload; `nil` if it may be stored.
    ///
    /// Reads one row, which the post changes anyway (see `usage` in the schema).
    func excess(_ db: Database, of sender: Int64, adding payload: Int) throws -> StorageExcess? {
        let stored = try db.first(prepared: "select notifications, bytes from usage where user_id = ?", sender) {
            (Int($0.integer(0)), Int($0.integer(1)))
        }
        let (count, bytes) = stored ?? (0, 0)
        if count >= self.notifications { return .notifications }
        return bytes > self.bytes - payload ? .bytes : nil
    }

    /// Whether a user has as many devices as it may, not counting one that a registration is about to replace.
    func isUsedUp(_ db: Database, byDevicesOf user: Int64, butFor replaced: Int64?) throws -> Bool {
        let count = try Int.fetchOne(
            db.cachedStatement(
                sql: """
                    select count(*) from (
                        select 1 from device where user_id = ? and handle is not null and number is not ? limit ?)
                    """
            ),
            arguments: [user, replaced, self.devices]
        )
        return (count ?? 0) >= self.devices
    }
}
