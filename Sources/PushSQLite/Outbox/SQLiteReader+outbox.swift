package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteReader {
    package func nextDue(in lane: Lane, _ queue: Queue) throws(StoreError) -> Date? {
        try self.read { db in
            try db.first(
                """
                select due_at from push
                where lane = \(lane.description) and is_bulk = \(queue.rawValue) and state = 'queued'
                    and due_at is not null
                order by due_at limit 1
                """
            ) { try $0.date() }
        }
    }

    package func oldestWaiting(in lane: Lane, _ queue: Queue) throws(StoreError) -> Date? {
        try self.read { db in
            // If there are no pushes, the minimum is null.
            let (lane, queue, most) = (lane.description, queue.rawValue, Queue.maximumExamined)
            return try db.first(SQL(sql: Self.oldestWaiting), lane, queue, most) { try $0.optionalDate() } ?? nil
        }
    }

    /// Because of the cross join, SQLite begins with the few pushes at both ends of the queue.
    /// Each end has a subquery of its own: a common table expression for both would contain the
    /// whole queue.
    static let oldestWaiting = """
        select min(n.created_at) from (
            select * from (
                select notification_id, due_at from push
                where lane = ?1 and is_bulk = ?2 and state = 'queued' and due_at is not null
                order by due_at limit ?3
            )
            union all
            select * from (
                select notification_id, due_at from push
                where lane = ?1 and is_bulk = ?2 and state = 'queued' and due_at is not null
                order by due_at desc limit ?3
            )
        ) w cross join notification n on n.id = w.notification_id where w.due_at < n.expires_at
        """

    /// Searches for the push that tests whether the provider accepts pushes again. A reader
    /// searches, so that the writer is not blocked: the search steps over older pushes that do not
    /// meet the conditions, and a single user can have a million of them.
    package func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) throws(StoreError) -> DuePush? {
        let (lane, now) = (lane.description, now.milliseconds)
        return try self.read { db in
            for wish in choice.wishes {
                for queue in Queue.allCases {
                    let push = try db.first(
                        SQL(sql: Self.probeSearch),
                        lane,
                        queue.rawValue,
                        now,
                        wish.isKnown,
                        wish.avoided.json
                    ) { try DuePush($0) }
                    if let push { return push }
                }
            }
            return nil
        }
    }

    /// Selects the first due push that meets the conditions. Because of `cross join`, SQLite scans
    /// the due pushes in their order, and stops at the first that meets them.
    static let probeSearch = """
        select d.notification_id, d.device from push d cross join device v on v.number = d.device
        where d.lane = ?1 and d.is_bulk = ?2 and d.state = 'queued' and d.due_at <= ?3
            and (?4 is null or ?4 = exists (select 1 from device_push p where p.device = d.device))
            and v.user_id not in (select value from json_each(?5))
        order by d.due_at limit 1
        """

    package func tallies() throws(StoreError) -> [String: Tally] {
        try self.read { try Self.tallies($0) }
    }

    static func tallies(_ db: Database) throws -> [String: Tally] {
        var tallies: [String: Tally] = [:]
        let row = try db.rows("select lane, state, count from tally")
        while try row.step() {
            guard let state = try TallyState(rawValue: row.text("state")) else { continue }
            try tallies[row.text("lane"), default: Tally()][keyPath: state.member] = Int(clamping: row.integer("count"))
        }
        return tallies
    }
}

extension Sequence<Int64> {
    /// The numbers as a JSON array, for SQLite's `json_each`.
    var json: String { "[\(self.map(String.init).joined(separator: ","))]" }
}

extension SQLiteReader {
    package static let isThere = """
        select 1 from notification
        where id = ?1 and expires_at > ?2 and recalled_at is null and (?3 is null or sender_id = ?3)
        """

    package static let isFanningOut = "select 1 from fanout where notification_id = ? and not is_set_aside"

    package static let deliveries = """
        select \(DeliveryColumn.list)
        from push d left join device v on v.number = d.device left join account u on u.id = d.user_id
        left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
        where d.notification_id = ? and d.device > ? order by d.device limit ?
        """

    package static let deliveriesToUser = """
        select \(DeliveryColumn.list)
        from device v indexed by device_by_user cross join push d on d.notification_id = ?1 and d.device = v.number
        left join account u on u.id = d.user_id
        left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
        where v.user_id = ?2 order by d.device limit ?3
        """

    package static let failedPushes = """
        select \(FailedColumn.selected)
        from push d indexed by delivery_by_failure left join device v on v.number = d.device
        left join account u on u.id = d.user_id
        where d.state = 'failed' and d.settled_at >= ?1 and (d.settled_at, d.notification_id, d.device) < (?2, ?3, ?4)
        order by d.settled_at desc, d.notification_id desc, d.device desc limit ?5
        """

    package static let recipients = """
        select \(RecipientColumn.list)
        from recipient r left join account u on u.id = r.user_id
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
            select \(DeliveryStage.expression) as stage, d.device from push d
            left join recipient r on r.notification_id = d.notification_id and r.user_id = d.user_id
            where d.notification_id = ? and d.device > ? order by d.device limit ?)
        group by stage
        """
}
