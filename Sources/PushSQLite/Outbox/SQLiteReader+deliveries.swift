internal import PushStore

extension SQLiteReader {
    package static let isThere = """
        select 1 from notification
        where id = ?1 and expires_at > ?2 and recalled_at is null and (?3 is null or sender_id = ?3)
        """

    package static let isFanningOut = "select 1 from fanout where notification_id = ? and not is_set_aside"

    package static let deliveries = """
        select \(DeliveryColumn.list)
        from delivery d left join device v on v.number = d.device left join user u on u.id = d.user_id
        left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
        where d.notification_id = ? and d.device > ? order by d.device limit ?
        """

    package static let deliveriesToUser = """
        select \(DeliveryColumn.list)
        from device v indexed by device_by_user cross join delivery d on d.notification_id = ?1 and d.device = v.number
        left join user u on u.id = d.user_id
        left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
        where v.user_id = ?2 order by d.device limit ?3
        """

    package static let failedPushes = """
        select \(FailedColumn.selected)
        from delivery d indexed by delivery_by_failure left join device v on v.number = d.device
        left join user u on u.id = d.user_id
        where d.state = 'failed' and d.settled_at >= ?1 and (d.settled_at, d.notification_id, d.device) < (?2, ?3, ?4)
        order by d.settled_at desc, d.notification_id desc, d.device desc limit ?5
        """

    package static let recipients = """
        select \(RecipientColumn.list)
        from recipient r left join user u on u.id = r.user_id
        where r.notification_id = ?1 and r.user_id > ?2 order by r.user_id limit ?3
        """

    package static let summary = "select \(NotificationSummary.Column.list) from notification n where n.id = ?"

    package static let latestNotifications = """
        select \(NotificationSummary.Column.list)
        from recipient r indexed by recipient_by_user cross join notification n on n.id = r.notification_id
        where r.user_id = ?1 order by r.change desc limit ?2
        """

    package static let counts = """
        select stage, count(*), max(device) from (
            select \(DeliveryStage.expression) as stage, d.device from delivery d
            left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
            where d.notification_id = ? and d.device > ? order by d.device limit ?)
        group by stage
        """
}
