internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Moves pushes to the present lanes (providers' queues) of their devices, for `DeviceStore.move`.
extension Pusher {
    /// Moves at most `page` queued pushes of a device to the device's present lane (a provider's
    /// queue). Returns the number of moved pushes.
    func moveQueued(ofDevice device: Int64, page: Int, _ db: Database, now: Date) throws -> Int {
        let lane = try db.first("select lane from device where number = \(device)") { try $0.optionalText() }
        guard let lane = lane ?? nil else { return 0 }
        let rows = try db.all(
            """
            select notification_id, lane from push
            where device = \(device) and settled_at is null and due_at is not null and state = 'queued'
                and replace(lane, '\(sql: Lane.lookSuffix)', '') <> \(lane)
            limit \(page)
            """
        ) { try (push: DuePush(notification: $0.integer("notification_id"), device: device), lane: $0.text("lane")) }
        for row in rows { try self.move(row.push, from: row.lane, to: lane, db, now: now) }
        return rows.count
    }

    /// Moves a queued push to the lane (a provider's queue) `new`, and makes it due at once. Each
    /// lane has a second lane for looks (pushes that only tell a device to sync): a look moves to
    /// the second lane of `new`.
    func move(_ push: DuePush, from old: String, to new: String, _ db: Database, now: Date) throws {
        let new = Lane(stored: old).isOfLooks ? Lane(stored: new).ofLooks.description : new
        // The old provider's retry times do not apply to the new provider.
        try db.run(
            """
            update push set lane = \(new), due_at = \(now.milliseconds), attempts = 0,
                reason = case is_withdrawn when 1 then reason end
            where notification_id = \(push.notification) and device = \(push.device)
            """
        )
        self.notes.count(.cancelled, lane: old)
        self.notes.count(.enqueued, lane: new)
    }
}
