package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func isThere(_ id: NotificationID, from sender: Int64?, now: Date) async throws(StoreError) -> Bool {
        try await self.read(Self.isThere, id.rawValue, now.milliseconds, sender) { $0.count > 0 }
    }

    static let isThere = """
        select 1 from notification
        where id = $1 and expires_at > $2 and recalled_at is null and ($3::int8 is null or sender_id = $3)
        """

    package func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> [DeliveryEntry] {
        let sealing = self.store.sealing
        return try await self.read(Self.deliveries, id.rawValue, device, limit) { rows in
            try rows.compactMap { try DeliveryEntry($0, sealing) }
        }
    }

    static let deliveries = """
        with d as (\(DeliveryStage.pushes))
        select d.device, d.user_id, v.id, u.name, d.lane, \(DeliveryStage.expression), d.attempts, d.reason,
            coalesce(r.read_at, r.fetched_at), d.settled_at
        from d left join device v on v.number = d.device left join account u on u.id = d.user_id
        left join recipient r on r.notification_id = $1 and r.user_id = d.user_id
        order by d.device
        """

    package func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) async throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?) {
        try await self.read(Self.counts, id.rawValue, device, limit) { rows in
            var counts: [DeliveryStage: Int] = [:]
            var last: Int64 = 0
            for row in rows.map({ $0 }) {
                guard let stage = DeliveryStage(rawValue: try row.text(0)) else { continue }
                counts[stage] = Int(clamping: try row.integer(1))
                last = max(last, try row.integer(2))
            }
            return (counts, counts.values.reduce(0, +) < limit ? nil : last)
        }
    }

    static let counts = """
        with d as (\(DeliveryStage.pushes))
        select \(DeliveryStage.expression), count(*), max(d.device) from d
        left join recipient r on r.notification_id = $1 and r.user_id = d.user_id
        group by 1
        """
}

extension DeliveryStage {
    /// The pushes of the notification `$1` after the device `$2`, at most `$3`, in the order of
    /// their devices.
    fileprivate static let pushes = """
        (select device, user_id, lane, case when owner is null then 'queued' else 'sending' end as state, attempts, reason,
            null::int8 as settled_at
        from push where \(DuePush.byNotification.rows(of: "$1", after: "$2"))
        order by \(DuePush.byNotification.order) limit $3)
        union all
        (select device, user_id, lane, state, attempts, reason, settled_at
        from push_end where \(DuePush.byNotification.rows(of: "$1", after: "$2"))
        order by \(DuePush.byNotification.order) limit $3)
        order by device limit $3
        """

    /// The stage of a row of `pushes`, here called `d`, with its `recipient` as `r`.
    fileprivate static let expression = """
        case when d.state = 'accepted' and r.read_at is not null then 'read'
            when d.state = 'accepted' and r.fetched_at is not null then 'fetched' else d.state end
        """
}

extension DeliveryEntry {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let state = DeliveryStage(rawValue: try row.text(5)) else { return nil }
        let receiptAt = state == .fetched || state == .read ? try row.optionalInteger(8) : nil
        let user = try row.integer(1)
        self.init(
            number: try row.integer(0),
            device: try row.optionalText(2).flatMap { RegistrationID($0) },
            username: try row.optionalData(3).map { try sealing.username($0, ofUser: user) },
            // The part after the slash may be a host that only the device's owner knows.
            platform: Platform(stored: String(try row.text(4).prefix { $0 != "/" })),
            state: state,
            attempts: Int(clamping: try row.integer(6)),
            updatedAt: try (receiptAt ?? row.optionalInteger(9)).map(Date.init(milliseconds:)),
            reason: try row.optionalText(7)
        )
    }
}
