package import Foundation
internal import PostgreSQL
package import PushCore
internal import PushStore

/// Receipts record that a user has fetched a notification. They are first collected in memory;
/// later one statement writes many of them.
extension PostgreSQLStore {
    package func recordFetches(of ids: [NotificationID], by user: Int64, now: Date) {
        switch self.receipts.record(ids.map(\.rawValue), by: user, at: now.milliseconds) {
        case .first: self.receiptsAreWaiting()
        case .added: break
        case .dropped: self.options.onEvent(.receiptsDropped(inAll: self.receipts.dropped))
        }
    }

    package func writeReceipts() async throws {
        while self.receipts.count > 0, try await self.writeSomeReceipts() {}
    }

    /// Writes some of the receipts, and puts them back into memory if the write fails. Returns
    /// `false` if there are no receipts.
    func writeSomeReceipts() async throws -> Bool {
        let receipts = self.receipts.take(ReceiptBook.slice)
        if receipts.isEmpty { return false }
        do {
            // Receipts, like the times of tokens' last use, may be lost in a crash. So their
            // commit does not wait for the disk.
            try await self.write(.relaxed) { tx in try await Self.write(receipts, tx) }
            return true
        } catch {
            self.receipts.putBack(receipts)
            throw error
        }
    }

    // MARK: - Private

    private static func write(_ receipts: [ReceiptBook.Receipt], _ tx: WriteTransaction) async throws {
        let rows = try await tx.query(
            Self.storeReceipts,
            receipts.map(\.key.notification),
            receipts.map(\.key.user),
            receipts.map(\.fetchedAt)
        )
        let written = try rows.map { row in
            (
                key: RecipientKey(notification: try row.integer(0), user: try row.integer(1)),
                fetchedAt: Date(milliseconds: try row.integer(2)),
                sender: try row.optionalInteger(3)
            )
        }
        for one in written {
            tx.record(.collected(one.key.notification, by: one.key.user, at: one.fetchedAt, sender: one.sender))
        }
        try await Self.cancelPaced(tx, written.map { ($0.key, $0.fetchedAt) })
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
    private static func cancelPaced(
        _ tx: WriteTransaction,
        _ fetched: [(key: RecipientKey, at: Date)]
    ) async throws {
        if fetched.isEmpty { return }
        let pushes = try await tx.query(
            Self.pacedPushes,
            fetched.map(\.key.notification),
            fetched.map(\.key.user),
            fetched.map(\.at.milliseconds),
            PushReason.paced
        ).map { row in
            (push: DuePush(notification: try row.integer(0), device: try row.integer(1)), at: try row.integer(2))
        }
        for (time, pushes) in Dictionary(grouping: pushes, by: \.at).sorted(by: { $0.key < $1.key }) {
            try await Self.cancel(
                tx,
                pushes.map(\.push),
                reason: PushReason.fetched,
                now: Date(milliseconds: time)
            )
        }
    }

    /// Selects the pushes that wait for the minimum interval between two pushes to a device. This
    /// device must be the user's only one in its lane (a provider's queue).
    ///
    /// The query begins with the devices: a user has few devices, but a broadcast has very many
    /// pushes.
    static let pacedPushes = """
        select p.notification_id, p.device, t.fetched_at
        from unnest($1::int8[], $2::int8[], $3::int8[]) as t (notification_id, user_id, fetched_at)
        join device d on d.user_id = t.user_id and d.retired_at is null and d.handle is not null
        \(DuePush.key.join(
            "notification_id, device", of: "push", as: "p", with: "t", ["device": "d.number"], condition: "and reason = $4"
        ))
        where not exists (select 1 from device o where o.user_id = t.user_id and o.number <> d.number
            and o.lane = d.lane and o.retired_at is null)
        order by 1, 2
        """
}
