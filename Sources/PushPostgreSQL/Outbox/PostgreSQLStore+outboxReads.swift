package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func nextDue(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date? {
        if self.hasStreams(lane) {
            // Only pushes to streams at this server count: other servers send the pushes of their
            // own streams.
            let values: [any Bindable] = [lane.description, queue == .bulk, Int64.min, self.membership.number]
            return try await self.read(Self.nextDueByStream, values: values) { try $0.first?.date() }
        }
        let marks = self.marks
        let search = marks.begin(.pushes(lane, queue), at: .now)
        let first = try await self.read(Self.nextDue, lane.description, queue == .bulk, search.start) { rows in
            try rows.first?.integer()
        }
        marks.endPoll(search, first: first, at: .now)
        return first.map(Date.init(milliseconds:))
    }

    static let nextDue = nextDue("")
    static let nextDueByStream = nextDue("and (p.is_withdrawn or \(StreamHolder.ofPush) = $4)")

    private static func nextDue(_ condition: String) -> String {
        """
        select p.due_at from push p
        where p.lane = $1 and p.is_bulk = $2 and p.due_at >= $3 and \(DueDelivery.isFree) \(condition)
        order by p.due_at limit 1
        """
    }

    package func oldestWaiting(in lane: Lane, _ queue: Queue) async throws(StoreError) -> Date? {
        // This search starts from the same due time as the search for the next due push: for
        // earlier due times, the index may have only entries of deleted rows.
        let start = self.marks.begin(.pushes(lane, queue), at: .now).start
        let values: [any Bindable] = [lane.description, queue == .bulk, start, Int64(Queue.maximumExamined)]
        return try await self.read(Self.oldestWaiting, values: values) { try $0.first?.optionalDate() }
    }

    static let oldestWaiting = """
        select min(n.created_at) from (
            (select notification_id, due_at from push where lane = $1 and is_bulk = $2 and due_at >= $3
                order by due_at limit $4)
            union all
            (select notification_id, due_at from push where lane = $1 and is_bulk = $2 and due_at >= $3
                order by due_at desc limit $4)
        ) w join notification n on n.id = w.notification_id where w.due_at < n.expires_at
        """

    package func tallies() async throws(StoreError) -> [String: Tally] {
        try await self.read(Self.tallies) { try Self.tallies(in: $0) }
    }

    static let tallies = "select lane, state, sum(count)::int8 as count from tally group by lane, state"

    static func tallies(in rows: Rows) throws -> [String: Tally] {
        var tallies: [String: Tally] = [:]
        for row in rows {
            guard let state = TallyState(rawValue: try row.text("state")) else { continue }
            let (lane, count) = (try row.text("lane"), Int(clamping: try row.integer("count")))
            tallies[lane, default: Tally()][keyPath: state.member] = count
        }
        return tallies
    }

    package func probe(in lane: Lane, _ choice: ProbeChoice, now: Date) async throws(StoreError) -> DuePush? {
        for wish in choice.wishes {
            for queue in Queue.allCases {
                let (isBulk, avoided) = (queue == .bulk, wish.avoided.sorted())
                let values: [any Bindable] = [lane.description, isBulk, now.milliseconds, wish.isKnown, avoided]
                let push = try await self.read(Self.search, values: values) { try $0.first.map(DuePush.init) }
                if let push { return push }
            }
        }
        return nil
    }

    /// Selects the first due push that satisfies the `ProbeChoice`. Because of the scalar
    /// subqueries, PostgreSQL steps through the due pushes in their order, and stops at the first
    /// suitable one.
    static let search = """
        select p.notification_id, p.device from push p
        where p.lane = $1 and p.is_bulk = $2 and p.due_at <= $3 and \(DueDelivery.isFree)
            and ($4::boolean is null
                or $4 = ((select a.device from device_push a where a.device = p.device) is not null))
            and (select v.user_id from device v where v.number = p.device) <> all($5::int8[])
        order by p.due_at limit 1
        """

    package static let isThere = """
        select 1 from notification
        where id = $1 and expires_at > $2 and recalled_at is null and ($3::int8 is null or sender_id = $3)
        """

    package static let isFanningOut = "select 1 from fanout where notification_id = $1 and not is_set_aside"

    package static let deliveries = """
        with d as (\(pushesInOrder))
        select \(DeliveryColumn.list)
        from d left join device v on v.number = d.device left join account u on u.id = d.user_id
        \(receipt) order by d.device
        """

    /// Adds the receipt of each push's user. With a plain join, the planner may read all
    /// recipients of the notification.
    private static let receipt = """
        left join lateral (
            select read_at, fetched_at from recipient where notification_id = $1 and user_id = d.user_id limit 1) r on true
        """

    /// Selects the pushes to one user's devices. With `offset 0`, the planner looks up the push of
    /// each device, and does not read all pushes of a broadcast.
    package static let deliveriesToUser = """
        with d as (
            select p.device, p.user_id, v.id, p.lane, case when p.owner is null then 'queued' else 'sending' end as state,
                p.attempts, p.reason, null::int8 as settled_at, p.due_at
            from device v cross join lateral (
                select * from push where notification_id = $1 and device = v.number offset 0) p where v.user_id = $2
            union all
            select e.device, e.user_id, v.id, e.lane, e.state, e.attempts, e.reason, e.settled_at, null::int8
            from device v cross join lateral (
                select * from push_end where notification_id = $1 and device = v.number offset 0) e where v.user_id = $2)
        select \(DeliveryColumn.list)
        from d cross join lateral (select d.id) v left join account u on u.id = d.user_id
        left join recipient r on r.notification_id = $1 and r.user_id = d.user_id
        order by d.device limit $3
        """

    /// Selects failed pushes. The devices and users are joined only to the pushes that remain
    /// after the limit, so that the planner finds their rows by an index.
    package static let failedPushes = """
        with d as (
            select notification_id, device, user_id, lane, state, attempts, reason, settled_at from push_end
            where state = 'failed' and settled_at >= $1 and (settled_at, notification_id, device) < ($2, $3, $4)
            order by settled_at desc, notification_id desc, device desc limit $5)
        select \(FailedColumn.selected)
        from d left join device v on v.number = d.device left join account u on u.id = d.user_id
        order by d.settled_at desc, d.notification_id desc, d.device desc
        """

    package static let recipients = """
        with r as (
            select notification_id, user_id, fetched_at, read_at, dismissed_at from recipient
            where \(RecipientKey.byNotification.rows(of: "$1", after: "$2"))
            order by \(RecipientKey.byNotification.order) limit $3)
        select \(RecipientColumn.list)
        from r left join account u on u.id = r.user_id order by r.user_id
        """

    package static let summary = "select \(NotificationSummary.Column.list) from notification n where n.id = $1"

    package static let latestNotifications = """
        with r as (select notification_id, change from recipient where user_id = $1 order by change desc limit $2)
        select \(NotificationSummary.Column.list)
        from r join notification n on n.id = r.notification_id order by r.change desc
        """

    package static let counts = """
        with d as (\(pushesInOrder))
        select \(DeliveryStage.expression), count(*), max(d.device) from d \(receipt)
        group by 1
        """

    /// Selects pushes of the notification `$1` in the order of their devices: at most `$3` pushes,
    /// to devices after `$2`.
    private static let pushesInOrder = """
        (select device, user_id, lane, case when owner is null then 'queued' else 'sending' end as state, attempts, reason,
            null::int8 as settled_at, due_at
        from push where \(DuePush.byNotification.rows(of: "$1", after: "$2"))
        order by \(DuePush.byNotification.order) limit $3)
        union all
        (select device, user_id, lane, state, attempts, reason, settled_at, null::int8
        from push_end where \(DuePush.byNotification.rows(of: "$1", after: "$2"))
        order by \(DuePush.byNotification.order) limit $3)
        order by device limit $3
        """
}
