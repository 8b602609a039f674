package import Foundation
internal import PostgreSQL
package import PushCore
internal import PushStore

/// Receipts record that a user has fetched a notification. They are first collected in memory;
/// later one statement writes many of them.
extension PostgreSQLStore {
    package func recordFetches(of ids: [NotificationID], by user: Int64, now: Date) {
        switch self.receipts.record(ids.map(\.rawValue), by: user, at: now.milliseconds) {
        case .first: self.receiptSignal.set()
        case .added: break
        case .dropped: self.options.onEvent(.receiptsDropped(inAll: self.receipts.dropped))
        }
    }

    /// Writes the receipts some time after the first of them, until the task is cancelled.
    func keepReceipts() async {
        await self.repeating(self.receiptSignal, pause: ReceiptBook.pause) {
            if self.receipts.count == 0 { await self.receiptSignal.wait(atMost: Self.longestWait) }
            // A cancellation ends this sleep early, and the last round follows at once.
            try? await Task.sleep(for: ReceiptBook.gathering)
            // If this call fails, it puts the receipts back into memory, and the next round writes
            // them.
            try await self.writeReceipts()
        }
    }

    package func writeReceipts() async throws {
        while case let receipts = self.receipts.take(ReceiptBook.slice), !receipts.isEmpty {
            do {
                // Receipts, like the times of tokens' last use, may be lost in a crash. So their
                // commit does not wait for the disk.
                try await self.write(.relaxed) { tx in try await tx.write(receipts) }
            } catch {
                self.receipts.putBack(receipts)
                throw error
            }
        }
    }
}

extension WriteTransaction {
    fileprivate func write(_ receipts: [ReceiptBook.Receipt]) async throws {
        let (notifications, users) = (receipts.map(\.key.notification), receipts.map(\.key.user))
        let rows = try await self.query(Self.storeReceipts, notifications, users, receipts.map(\.fetchedAt))
        let written = try rows.map { row in
            (key: try RecipientKey(row), at: try row.date("fetched_at"), sender: try row.optionalInteger("sender_id"))
        }
        for one in written {
            self.record(.collected(one.key.notification, by: one.key.user, at: one.at, sender: one.sender))
        }
        try await self.cancelPaced(written.map { ($0.key, $0.at) })
    }

    /// Stores the time of the first fetch. Locks the rows in the order of their keys before it
    /// changes them.
    static let storeReceipts = """
        with l as (
            select r.notification_id, r.user_id, t.fetched_at
            from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, user_id, fetched_at)
            join recipient r on \(RecipientKey.lookup.equality("r", "t"))
            where r.fetched_at is null order by r.notification_id, r.user_id for no key update of r)
        update recipient r set fetched_at = l.fetched_at
        from l left join notification n on n.id = any(array[l.notification_id])
        where \(RecipientKey.lookup.equality("r", "l"))
        returning r.notification_id, r.user_id, r.fetched_at, n.sender_id
        """

    /// Cancels pushes that still wait for the minimum interval between two pushes to a device. A
    /// push is cancelled only if its device is the user's only one in the lane (a provider's
    /// queue): the fetch then counts as this device's.
    private func cancelPaced(_ fetched: [(key: RecipientKey, at: Date)]) async throws {
        let pushes = try await self.query(
            Self.pacedPushes,
            keys: fetched.map(\.key),
            fetched.map(\.at.milliseconds),
            PushReason.paced
        ).map { (push: try DuePush($0), at: try $0.integer("fetched_at")) }
        for (time, pushes) in Dictionary(grouping: pushes, by: \.at).sorted(by: { $0.key < $1.key }) {
            try await self.cancel(pushes.map(\.push), reason: PushReason.fetched, now: Date(milliseconds: time))
        }
    }

    /// The query begins with the devices: a user has few devices, but a broadcast has very many
    /// pushes.
    static let pacedPushes = """
        select p.notification_id, p.device, t.fetched_at
        from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, user_id, fetched_at)
        join device d on d.user_id = t.user_id and d.retired_at is null and d.handle is not null
        \(DuePush.lookup.join(
            "notification_id, device", of: "push", as: "p", with: "t", ["device": "d.number"], condition: "and reason = $4"
        ))
        where not exists (select 1 from device o where o.user_id = t.user_id and o.number <> d.number
            and o.lane = d.lane and o.retired_at is null)
        order by 1, 2
        """
}
