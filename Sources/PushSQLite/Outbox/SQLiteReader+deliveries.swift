package import Foundation
internal import GRDB
package import PushCore
package import PushStore

extension SQLiteReader {
    package func isThere(_ id: NotificationID, from sender: Int64?, now: Date) throws(StoreError) -> Bool {
        try self.read { db in
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: """
                        select exists (select 1 from notification where id = ?1 and expires_at > ?2
                            and recalled_at is null and (?3 is null or sender_id = ?3))
                        """
                ),
                arguments: [id.rawValue, now.milliseconds, sender]
            ) ?? false
        }
    }

    package func isFanningOut(_ id: NotificationID) throws(StoreError) -> Bool {
        try self.read { db in
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: "select exists (select 1 from fanout where notification_id = ? and not is_set_aside)"
                ),
                arguments: [id.rawValue]
            ) ?? false
        }
    }

    package func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) throws(StoreError) -> [DeliveryEntry] {
        try self.read { db in
            let request: SQLRequest<Row> = """
                select d.device, d.user_id, v.id, u.name, d.lane, \(DeliveryStage.expression) as stage, d.attempts, d.reason,
                    coalesce(r.read_at, r.fetched_at) as receipt_at, d.settled_at
                from delivery d left join device v on v.number = d.device left join user u on u.id = d.user_id
                left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
                where d.notification_id = \(id.rawValue) and d.device > \(device) order by d.device limit \(limit)
                """
            return try request.fetchAll(db).compactMap { try DeliveryEntry($0, self.sealing) }
        }
    }

    package func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?) {
        try self.read { db in
            let request: SQLRequest<Row> = """
                select stage, count(*) as count, max(device) as last from (
                    select \(DeliveryStage.expression) as stage, d.device from delivery d
                    left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
                    where d.notification_id = \(id.rawValue) and d.device > \(device) order by d.device limit \(limit))
                group by stage
                """
            var counts: [DeliveryStage: Int] = [:]
            var last: Int64 = 0
            for row in try request.fetchAll(db) {
                guard let stage = try DeliveryStage(rawValue: row["stage"]) else { continue }
                counts[stage] = try row["count"]
                last = try max(last, row["last"])
            }
            return (counts, counts.values.reduce(0, +) < limit ? nil : last)
        }
    }
}

extension DeliveryStage {
    /// The stage of a row of `delivery`, here called `d`, with its `recipient` as `r`.
    fileprivate static let expression: SQL = """
        case when d.state = 'accepted' and r.read_at is not null then 'read'
            when d.state = 'accepted' and r.fetched_at is not null then 'fetched' else d.state end
        """
}

extension DeliveryEntry {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    fileprivate init?(_ row: Row, _ sealing: Sealing) throws {
        guard let state = try DeliveryStage(rawValue: row["stage"]) else { return nil }
        let receiptAt: Int64? = try state == .fetched || state == .read ? row["receipt_at"] : nil
        self.init(
            number: try row["device"],
            device: try (row["id"] as String?).flatMap { RegistrationID($0) },
            username: try (row["name"] as Data?).map { try sealing.username($0, ofUser: row["user_id"]) },
            // The part after the slash may be a host that only the device's owner knows.
            platform: try Platform(stored: String((row["lane"] as String).prefix { $0 != "/" })),
            state: state,
            attempts: try row["attempts"],
            updatedAt: try (receiptAt ?? row["settled_at"] as Int64?).map(Date.init(milliseconds:)),
            reason: try row["reason"]
        )
    }
}
