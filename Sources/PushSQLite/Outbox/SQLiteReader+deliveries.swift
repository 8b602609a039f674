package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func isThere(_ id: NotificationID, from sender: Int64?, now: Date) throws(StoreError) -> Bool {
        try self.read { db in
            try db.first(
                prepared: """
                    select 1 from notification
                    where id = ?1 and expires_at > ?2 and recalled_at is null and (?3 is null or sender_id = ?3)
                    """,
                id.rawValue,
                now.milliseconds,
                sender
            ) { _ in true } ?? false
        }
    }

    package func isFanningOut(_ id: NotificationID) throws(StoreError) -> Bool {
        try self.read { db in
            let sql = "select 1 from fanout where notification_id = ? and not is_set_aside"
            return try db.first(prepared: sql, id.rawValue) { _ in true } ?? false
        }
    }

    package func deliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) throws(StoreError) -> [DeliveryEntry] {
        try self.read { db in
            try db.all(
                prepared: """
                    select \(DeliveryColumn.list)
                    from delivery d left join device v on v.number = d.device left join user u on u.id = d.user_id
                    left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
                    where d.notification_id = ? and d.device > ? order by d.device limit ?
                    """,
                id.rawValue,
                device,
                limit
            ) { try DeliveryEntry($0, self.sealing) }.compactMap(\.self)
        }
    }

    package func deliveries(
        of id: NotificationID,
        toUser user: Int64,
        limit: Int
    ) throws(StoreError) -> [DeliveryEntry] {
        try self.read { db in
            try db.all(prepared: Self.deliveriesToUser, id.rawValue, user, limit) {
                try DeliveryEntry($0, self.sealing)
            }.compactMap(\.self)
        }
    }

    static let deliveriesToUser = """
        select \(DeliveryColumn.list)
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
            try db.all(
                prepared: Self.failedPushes,
                since.milliseconds,
                last?.at.milliseconds ?? .max,
                last?.notification ?? .max,
                last?.device ?? .max,
                limit
            ) { try FailedPush($0, self.sealing) }.compactMap(\.self)
        }
    }

    static let failedPushes = """
        select \(FailedColumn.selected)
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
            try db.all(prepared: Self.recipients, id.rawValue, user, limit) { try RecipientEntry($0, self.sealing) }
        }
    }

    static let recipients = """
        select \(RecipientColumn.list)
        from recipient r left join user u on u.id = r.user_id
        where r.notification_id = ?1 and r.user_id > ?2 order by r.user_id limit ?3
        """

    package func times(of id: NotificationID) throws(StoreError) -> NotificationTimes? {
        try self.read { db in
            let sql = "select \(NotificationTimes.Column.list) from notification n where n.id = ?"
            return try db.first(prepared: sql, id.rawValue) { try NotificationTimes($0) } ?? nil
        }
    }

    package func latestNotifications(ofUser user: Int64, limit: Int) throws(StoreError) -> [NotificationTimes] {
        try self.read { db in
            try db.all(prepared: Self.latestNotifications, user, limit) { try NotificationTimes($0) }.compactMap(\.self)
        }
    }

    static let latestNotifications = """
        select \(NotificationTimes.Column.list)
        from recipient r indexed by recipient_by_user cross join notification n on n.id = r.notification_id
        where r.user_id = ?1 order by r.change desc limit ?2
        """

    package func countDeliveries(
        of id: NotificationID,
        after device: Int64,
        limit: Int
    ) throws(StoreError) -> (counts: [DeliveryStage: Int], last: Int64?) {
        try self.read { db in
            var counts: [DeliveryStage: Int] = [:]
            var last: Int64 = 0
            try db.each(
                prepared: """
                    select stage, count(*), max(device) from (
                        select \(DeliveryStage.expression) as stage, d.device from delivery d
                        left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
                        where d.notification_id = ? and d.device > ? order by d.device limit ?)
                    group by stage
                    """,
                values: [id.rawValue, device, limit]
            ) { row in
                guard let stage = DeliveryStage(rawValue: row.text(0)) else { return }
                counts[stage] = Int(clamping: row.integer(1))
                last = max(last, row.integer(2))
            }
            return (counts, counts.values.reduce(0, +) < limit ? nil : last)
        }
    }
}
