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
                    coalesce(r.read_at, r.fetched_at) as receipt_at, d.settled_at, d.due_at
                from delivery d left join device v on v.number = d.device left join user u on u.id = d.user_id
                left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
                where d.notification_id = \(id.rawValue) and d.device > \(device) order by d.device limit \(limit)
                """
            return try request.fetchAll(db).compactMap { try DeliveryEntry($0, self.sealing) }
        }
    }

    package func deliveries(
        of id: NotificationID,
        toUser user: Int64,
        limit: Int
    ) throws(StoreError) -> [DeliveryEntry] {
        try self.read { db in
            try Row.fetchAll(
                db.cachedStatement(sql: Self.deliveriesToUser),
                arguments: [id.rawValue, user, limit]
            ).compactMap { try DeliveryEntry($0, self.sealing) }
        }
    }

    static let deliveriesToUser = """
        select d.device, d.user_id, v.id, u.name, d.lane, \(DeliveryStage.text) as stage, d.attempts, d.reason,
            coalesce(r.read_at, r.fetched_at) as receipt_at, d.settled_at, d.due_at
        from device v indexed by device_by_user cross join delivery d on d.notification_id = ?1 and d.device = v.number
        left join user u on u.id = d.user_id
        left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
        where v.user_id = ?2 order by d.device limit ?3
        """

    package func failedPushes(
        since: Date,
        before last: FailurePlace?,
        limit: Int
    ) throws(StoreError) -> [FailedPush] {
        try self.read { db in
            try Row.fetchAll(
                db.cachedStatement(sql: Self.failedPushes),
                arguments: [
                    since.milliseconds, last?.at.milliseconds ?? .max, last?.notification ?? .max, last?.device ?? .max,
                    limit,
                ]
            ).compactMap { row in
                guard
                    let id = try NotificationID(rawValue: row["notification_id"]),
                    let delivery = try DeliveryEntry(row, self.sealing)
                else { return nil }
                let at = try Date(milliseconds: row["settled_at"])
                let place = FailurePlace(at: at, notification: id.rawValue, device: delivery.number)
                return FailedPush(notification: id, delivery: delivery, place: place)
            }
        }
    }

    static let failedPushes = """
        select d.notification_id, d.device, d.user_id, v.id, u.name, d.lane, d.state as stage, d.attempts, d.reason,
            null as receipt_at, d.settled_at, null as due_at
        from delivery d indexed by delivery_by_failure left join device v on v.number = d.device
        left join user u on u.id = d.user_id
        where d.state = 'failed' and d.settled_at >= ?1 and (d.settled_at, d.notification_id, d.device) < (?2, ?3, ?4)
        order by d.settled_at desc, d.notification_id desc, d.device desc limit ?5
        """

    package func recipients(
        of id: NotificationID,
        after user: Int64,
        limit: Int
    ) throws(StoreError) -> [RecipientEntry] {
        try self.read { db in
            try Row.fetchAll(
                db.cachedStatement(sql: Self.recipients),
                arguments: [id.rawValue, user, limit]
            ).map { row in
                let user: Int64 = try row["user_id"]
                return RecipientEntry(
                    user: user,
                    username: try (row["name"] as Data?).map { try self.sealing.username($0, ofUser: user) },
                    fetchedAt: try (row["fetched_at"] as Int64?).map(Date.init(milliseconds:)),
                    readAt: try (row["read_at"] as Int64?).map(Date.init(milliseconds:)),
                    dismissedAt: try (row["dismissed_at"] as Int64?).map(Date.init(milliseconds:))
                )
            }
        }
    }

    static let recipients = """
        select r.user_id, u.name, r.fetched_at, r.read_at, r.dismissed_at
        from recipient r left join user u on u.id = r.user_id
        where r.notification_id = ?1 and r.user_id > ?2 order by r.user_id limit ?3
        """

    package func times(of id: NotificationID) throws(StoreError) -> NotificationTimes? {
        try self.read { db in
            try Row.fetchOne(
                db.cachedStatement(
                    sql: "select id, created_at, expires_at, recalled_at from notification where id = ?"
                ),
                arguments: [id.rawValue]
            ).flatMap { try NotificationTimes($0) }
        }
    }

    package func latestNotifications(ofUser user: Int64, limit: Int) throws(StoreError) -> [NotificationTimes] {
        try self.read { db in
            try Row.fetchAll(db.cachedStatement(sql: Self.latestNotifications), arguments: [user, limit])
                .compactMap { try NotificationTimes($0) }
        }
    }

    static let latestNotifications = """
        select n.id, n.created_at, n.expires_at, n.recalled_at
        from recipient r indexed by recipient_by_user cross join notification n on n.id = r.notification_id
        where r.user_id = ?1 order by r.change desc limit ?2
        """

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
    fileprivate static let text = """
        case when d.state = 'accepted' and r.read_at is not null then 'read'
            when d.state = 'accepted' and r.fetched_at is not null then 'fetched' else d.state end
        """
    fileprivate static let expression = SQL(sql: Self.text)
}

extension NotificationTimes {
    /// `nil` if this version cannot have written the row.
    fileprivate init?(_ row: Row) throws {
        guard let id = try NotificationID(rawValue: row["id"]) else { return nil }
        self.init(
            id: id,
            createdAt: Date(milliseconds: try row["created_at"]),
            expiresAt: Date(milliseconds: try row["expires_at"]),
            recalledAt: try (row["recalled_at"] as Int64?).map(Date.init(milliseconds:))
        )
    }
}

extension DeliveryEntry {
    /// `nil` if this version cannot have written the row; throws if the name cannot be decrypted.
    init?(_ row: Row, _ sealing: Sealing) throws {
        guard let state = try DeliveryStage(rawValue: row["stage"]) else { return nil }
        let receiptAt: Int64? = try state == .fetched || state == .read ? row["receipt_at"] : nil
        self.init(
            number: try row["device"],
            device: try (row["id"] as String?).flatMap { RegistrationID($0) },
            username: try (row["name"] as Data?).map { try sealing.username($0, ofUser: row["user_id"]) },
            lane: try Lane(stored: row["lane"]),
            state: state,
            attempts: try row["attempts"],
            updatedAt: try (receiptAt ?? row["settled_at"] as Int64?).map(Date.init(milliseconds:)),
            nextAttempt: try state == .queued ? (row["due_at"] as Int64?).map(Date.init(milliseconds:)) : nil,
            reason: try row["reason"]
        )
    }
}
