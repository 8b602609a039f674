internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Moves pushes to the lanes of their devices, as `DeviceStore.move` says.
extension SQLiteStore {
    /// Moves queued pushes of a device to its lane; returns how many, at most `page`.
    static func moveQueued(_ db: Database, ofDevice device: Int64, page: Int, now: Date) throws -> Int {
        let lane = try db.first(prepared: "select lane from device where number = ?", device) { $0.optionalText(0) }
        guard let lane = lane ?? nil else { return 0 }
        let rows = try db.all(
            prepared: """
                select notification_id, lane from delivery
                where device = ? and settled_at is null and due_at is not null and state = 'queued' and replace(lane, '\(Lane.lookSuffix)', '') <> ?
                limit ?
                """,
            device,
            lane,
            page
        ) { (notification: $0.integer(0), lane: $0.text(1)) }
        var tally = TallyCount()
        for row in rows {
            try Self.move(
                db,
                notification: row.notification,
                device: device,
                from: row.lane,
                to: lane,
                now: now,
                &tally
            )
        }
        try tally.write(db)
        return rows.count
    }

    /// Moves a queued push to another lane of devices, where it is due at once. A look moves to
    /// the lane of looks that belongs to that lane.
    static func move(
        _ db: Database,
        notification: Int64,
        device: Int64,
        from old: String,
        to new: String,
        now: Date,
        _ tally: inout TallyCount
    ) throws {
        let new = Lane(stored: old).isOfLooks ? Lane(stored: new).ofLooks.description : new
        // The retry times that the old provider asked for do not apply to the new provider.
        try db.run(
            prepared: """
                update delivery set lane = ?, due_at = ?, attempts = 0,
                    reason = case is_withdrawn when 1 then reason end
                where notification_id = ? and device = ?
                """,
            new,
            now.milliseconds,
            notification,
            device
        )
        tally.add(.cancelled, lane: old)
        tally.add(.enqueued, lane: new)
    }
}
