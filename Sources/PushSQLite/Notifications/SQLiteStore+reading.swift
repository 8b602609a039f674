internal import Dispatch
package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    package func mark(
        _ id: NotificationID,
        as mark: ReadMark,
        by user: Int64,
        ifStill expected: ReadMark?,
        now: Date
    ) async throws -> MarkOutcome {
        try await self.writer.write { db in
            let old = try Self.state(of: id, for: user, db, now: now)?.mark
            let (outcome, isChange) = mark.decide(replacing: old, ifStill: expected)
            if isChange { try self.set(mark, of: id, for: user, db, now: now) }
            return outcome
        }
    }

    package func markRead(
        _ ids: [NotificationID],
        by user: User,
        now: Date
    ) async throws -> (read: [NotificationID], changedApps: Set<AppName>) {
        try await self.writer.write { db in
            var marks: [Int64: (mark: ReadMark, app: AppName)] = [:]
            // One statement for all ids, since other users' posts wait for this transaction.
            let row = try db.rows(SQL(sql: Self.marks), [ids.map(\.rawValue).json, user.id, now.milliseconds])
            while try row.step() {
                let app = try AppName(stored: row.optionalText("app"))
                guard user.mayUse(app) else { continue }
                marks[try row.integer("id")] = (try row.optionalDate("read_at") == nil ? .unread : .read, app)
            }
            var changedApps: Set<AppName> = []
            let read = try ids.filter { id in
                guard let old = marks.removeValue(forKey: id.rawValue) else { return false }
                guard old.mark == .unread else { return true }
                try self.set(.read, of: id, for: user.id, db, now: now)
                changedApps.insert(old.app)
                return true
            }
            return (read: read, changedApps: changedApps)
        }
    }

    /// The visible notifications among the ids, which are a JSON array.
    private static let marks = """
        select n.id, r.read_at, n.app
        from json_each(?1) k cross join notification n on n.id = k.value
        cross join recipient r on r.notification_id = n.id and r.user_id = ?2
        where n.expires_at > ?3 and n.payload is not null and r.dismissed_at is null
        """

    private func set(_ mark: ReadMark, of id: NotificationID, for user: Int64, _ db: Database, now: Date) throws {
        let readAt = mark == .read ? now.milliseconds : nil
        try db.run(
            """
            update recipient set read_at = \(readAt), change = \(self.changes.next()), changed_at = \(now.milliseconds)
            where notification_id = \(id.rawValue) and user_id = \(user)
            """
        )
    }
}

extension SQLiteStore {
    package func recordFetches(of ids: [NotificationID], by user: Int64, now: Date) {
        self.writer.record(ids.map(\.rawValue), collectedBy: user, now: now)
    }

    package func writeReceipts() async throws {
        await withCheckedContinuation { continuation in
            self.writer.queue.async {
                self.writer.drainReceipts()
                continuation.resume()
            }
        }
    }

    /// Writes the receipt of one fetch.
    static func write(_ receipt: ReceiptBook.Receipt, _ db: Database) throws {
        let (id, user) = (receipt.key.notification, receipt.key.user)
        let written = try db.run(
            """
            update recipient set fetched_at = \(receipt.fetchedAt)
            where notification_id = \(id) and user_id = \(user) and fetched_at is null
            """
        )
        guard written == 1 else { return }
        let devices = try db.all(SQL(sql: Self.pacedDevices), id, user, PushReason.paced) { try $0.integer() }
        for device in devices {
            let push = DuePush(notification: id, device: device)
            try Self.cancel(push, reason: PushReason.fetched, db, now: Date(milliseconds: receipt.fetchedAt))
        }
    }

    /// Selects those devices of a user whose push of the notification still waits for the minimum
    /// interval between two pushes. A device is left out if the user has another device in the
    /// same lane (a provider's queue).
    ///
    /// The query begins with `device`: a user has few devices, but a broadcast has very many
    /// pushes.
    static let pacedDevices = """
        select x.device from device d indexed by device_by_user
        cross join push x on x.notification_id = ?1 and x.device = d.number
        where d.user_id = ?2 and d.retired_at is null and d.handle is not null
            and x.settled_at is null and x.reason = ?3
            and not exists (select 1 from device o where o.user_id = ?2 and o.number <> d.number
                and o.lane = d.lane and o.retired_at is null)
        """
}
