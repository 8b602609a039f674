internal import Dispatch
package import Foundation
package import PushCore
internal import PushStore
internal import SQLite

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
            prepared: """
                update recipient set fetched_at = ? where notification_id = ? and user_id = ? and fetched_at is null
                """,
            receipt.fetchedAt,
            id,
            user
        )
        guard written == 1 else { return }
        for device in try db.all(prepared: Self.pacedDevices, id, user, PushReason.paced, decode: { $0.integer(0) }) {
            let push: SQL = "notification_id = \(id) and device = \(device)"
            try Self.cancel(db, where: push, reason: PushReason.fetched, now: Date(milliseconds: receipt.fetchedAt))
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
        cross join delivery x on x.notification_id = ?1 and x.device = d.number
        where d.user_id = ?2 and d.retired_at is null and d.handle is not null
            and x.settled_at is null and x.reason = ?3
            and not exists (select 1 from device o where o.user_id = ?2 and o.number <> d.number
                and o.lane = d.lane and o.retired_at is null)
        """
}
