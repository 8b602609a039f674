internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A device that gets a push of one of the group's posts.
struct GroupDevice {
    let number: Int64
    let user: Int64
    let lane: String
    /// Whether the device cannot be reached before it connects. Its push waits without a due time.
    let isAway: Bool
}

/// A row of `recipient` that the group inserts.
typealias GroupRecipient = (notification: NewNotification, user: Int64, change: Int64, mac: Int64)

extension HashedAudience {
    /// Whether the audience consists only of users whom it names.
    var isOfNames: Bool {
        !self.audience.expressions.isEmpty && self.audience.usernames.count == self.audience.expressions.count
    }

    /// The tags that select devices in the audience's branches.
    var deviceTags: [Data] {
        self.branches.compactMap { branch in
            if case .devicesWith(let tag) = branch { tag } else { nil }
        }
    }
}

extension PostGroup {
    /// Finds the users whom the posts name, and locks these users against deletion. Also reads how
    /// much the posts' senders have stored, and finds which of the posts' ids are in use.
    static func lookUp(for posts: [NewNotification], _ senders: [Int64]) throws -> Statement {
        let users = Set(posts.flatMap { $0.audience.users.map(\.key) })
        return try Statement(Self.lookup, Array(users), senders, posts.map(\.id.rawValue))
    }

    static let lookup = """
        with a as (
            select id, name_key, apps, requires_encryption from account where name_key = any($1::bytea[])
            order by id for key share)
        select a.id, a.name_key, a.apps, null::int8 as notifications, null::int8 as bytes, a.requires_encryption from a
        union all select u.user_id, null, null, u.notifications, u.bytes, null from usage u where u.user_id = any($2::int8[])
        union all select n.id, null, null, null, null, null from notification n where n.id = any($3::int8[])
        """

    /// Draws change numbers, like `WriteTransaction.changes`, but earlier: the users' ids are not
    /// known yet, nor which posts will be stored. So it draws, for each named user, one number for
    /// each post that names this user. `nil` if the posts name no user.
    static func draw(for posts: [NewNotification]) throws -> Statement? {
        var counts: [Data: Int] = [:]
        for post in posts where post.options.sendAt == nil {
            for key in Set(post.audience.users.map(\.key)) { counts[key, default: 0] += 1 }
        }
        guard let most = counts.values.max() else { return nil }
        return try Statement(Self.nextChanges, Array(counts.keys), most)
    }

    static let nextChanges = WriteTransaction.nextChanges(
        ofUsers: "(select id as user_id from account where name_key = any($1::bytea[])) as u"
    )

    /// Adds to the senders' usage (how many notifications and bytes they have stored), and locks
    /// these rows. Fails if a sender then exceeds its maximum in `most`. `added` is sorted by
    /// sender.
    static func adding(_ added: [(sender: Int64, usage: Usage)], most: [Int64: Usage] = [:]) throws -> Statement {
        let values: [any Bindable] = [added.map(\.sender), added.map(\.usage.notifications), added.map(\.usage.bytes)]
        if most.isEmpty { return try Statement(Self.usageAddition, values: values) }
        let bounds = added.map { most[$0.sender] }
        return try Statement(
            Self.usageAdditionWithinBounds,
            values: values + [bounds.map { $0?.notifications }, bounds.map { $0?.bytes }]
        )
    }

    /// The usage of senders, from rows with columns of the table `usage`.
    static func usage(_ rows: Rows) throws -> [Int64: Usage] {
        let usage = try rows.map { row in
            let usage = Usage(notifications: try row.integer("notifications"), bytes: try row.integer("bytes"))
            return (try row.integer("user_id"), usage)
        }
        return Dictionary(usage) { first, _ in first }
    }

    static let usageAddition = """
        insert into usage (user_id, notifications, bytes)
        select t.user_id, t.notifications, t.bytes
        from unnest($1::int8[], $2::int8[], $3::int8[]) as t (user_id, notifications, bytes) order by t.user_id
        on conflict (user_id) do update set notifications = usage.notifications + excluded.notifications,
            bytes = usage.bytes + excluded.bytes
        returning user_id, notifications, bytes
        """

    /// Adds to the rows of `usage`. If a sender exceeds its limit, fails on purpose with the error
    /// "number out of range" (22003).
    static let usageAdditionWithinBounds = """
        with t as materialized (
            select t.* from unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
                as t (user_id, notifications, bytes, most_notifications, most_bytes)),
        u as (
            insert into usage (user_id, notifications, bytes)
            select t.user_id, t.notifications, t.bytes from t order by t.user_id
            on conflict (user_id) do update set notifications = usage.notifications + excluded.notifications,
                bytes = usage.bytes + excluded.bytes
            returning user_id, notifications, bytes)
        select 9223372036854775807 + case when count(*) = 0 then 0 else 1 end from u join t on t.user_id = u.user_id
        where u.notifications > t.most_notifications or u.bytes > t.most_bytes
        """

    /// Finds the devices with each tag of the posts, up to a limit. The caller must have locked
    /// the counters of changes of the users whom the posts name. So no device of these users opens
    /// its first event stream or loses its last one meanwhile.
    static func findDevices(of posts: [NewNotification], _ streamLanes: Set<String>) throws -> Statement {
        let tags = Set(posts.flatMap(\.audience.deviceTags))
        return try Statement(Self.taggedDevices, Array(tags), AudienceWalk.page + 1, streamLanes.sorted())
    }

    static func devices(_ rows: Rows) throws -> [Data: [GroupDevice]] {
        var devices: [Data: [GroupDevice]] = [:]
        for row in rows {
            let (number, user) = (try row.integer("number"), try row.integer("user_id"))
            let (lane, isAway) = (try row.text("lane"), try row.flag("is_away"))
            let device = GroupDevice(number: number, user: user, lane: lane, isAway: isAway)
            devices[try row.data("tag"), default: []].append(device)
        }
        return devices
    }

    private static let taggedDevices = """
        select k.tag, v.number, v.user_id, v.lane,
            case when v.lane = any($3::text[]) then \(StreamHolder.holder(of: "v.number")) is null else false end as is_away
        from pg_catalog.unnest($1::bytea[]) as k (tag)
        cross join lateral (
            select d.number, d.user_id, d.lane from device_tag t join device d on d.number = t.device
            where t.tag = k.tag and \(AudienceCondition.activeDevice) limit $2) as v
        """

    /// Inserts the posts. A post for a later time also gets a row in the schedule. Posts whose
    /// devices will be found later already get their places in the order of notifications.
    static func insertion(of chosen: [Chosen], _ sealing: Sealing) throws -> Statement {
        let notifications = chosen.map(\.notification)
        let (recipients, pushes) = (chosen.flatMap(\.recipients), chosen.flatMap(\.pushes))
        let values: [any Bindable] = [
            notifications.map(\.id.rawValue),
            notifications.map(\.sender),
            notifications.map(\.audience.audience.app.stored),
            notifications.map(\.options.isStoredByClients),
            notifications.map(\.options.isReadOnce),
            notifications.map(\.options.priority.rawValue),
            notifications.map(\.options.collapseID),
            chosen.map { Int64($0.plan.index) << 8 | .random(in: 0..<256) },
            chosen.map(\.plan.post.seed),
            notifications.map(\.createdAt.milliseconds),
            notifications.map(\.expiresAt.milliseconds),
            chosen.map(\.payload),
            chosen.map(\.alert),
            notifications.map(\.options.isEndToEnd),
            recipients.map(\.notification.id.rawValue),
            recipients.map(\.user),
            recipients.map(\.change),
            recipients.map(\.notification.createdAt.milliseconds),
            recipients.map(\.mac),
            pushes.map(\.notification.id.rawValue),
            pushes.map(\.device.number),
            pushes.map(\.device.user),
            pushes.map(\.device.lane),
            pushes.map { $0.device.isAway ? nil : $0.notification.createdAt.milliseconds } as [Int64?],
            pushes.map { $0.device.isAway ? PushReason.away : nil } as [String?],
        ]
        if chosen.allSatisfy({ $0.devices != nil }) { return try Statement(Self.insertion, values: values) }
        let scheduled = notifications.filter { $0.options.sendAt != nil }
        return try Statement(
            Self.insertionWithSchedule,
            values: values + [
                scheduled.map(\.id.rawValue),
                scheduled.map(\.options.sendAt?.milliseconds),
                try scheduled.map {
                    let expressions = $0.audience.audience.expressions.map(\.description)
                    return try sealing.seal(expressions, in: .scheduled($0.id.rawValue), until: $0.expiresAt)
                } as [Data],
                try scheduled.map { try $0.audience.audience.platformNames },
            ]
        )
    }

    /// Inserts the recipients of read-once posts into `untaken`; `nil` if no post is read-once.
    static func untakenInsertion(of chosen: [Chosen]) throws -> Statement? {
        let untaken = chosen.flatMap(\.recipients).filter(\.notification.options.isReadOnce)
        if untaken.isEmpty { return nil }
        return try Statement(Self.untakenInsertion, untaken.map(\.notification.id.rawValue), untaken.map(\.user))
    }

    /// Inserts notifications. A notification's place in the order of notifications is the time of
    /// its insertion, by the database's clock. It consists of the microseconds since 1970, shifted
    /// by 8 bits. The low 8 bits are random, for notifications of the same microsecond. Posts of
    /// one caller are at least one microsecond apart, so they keep their order.
    ///
    /// If an id is taken, the insertion fails (23505), and with it the whole transaction. So the
    /// order of the statement's other parts does not matter.
    private static let notifications = """
        insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority, collapse_id,
            sequence, seed, created_at, expires_at, payload, alert, is_end_to_end)
        select t.id, t.sender_id, t.app, t.is_stored_by_clients, t.is_read_once, t.priority, t.collapse_id,
            ((extract(epoch from clock_timestamp()) * 1000000)::int8 << 8) + t.place, t.seed, t.created_at, t.expires_at,
            t.payload, t.alert, t.is_end_to_end
        from unnest($1::int8[], $2::int8[], $3::text[], $4::boolean[], $5::boolean[], $6::text[], $7::text[], $8::int8[],
            $9::int8[], $10::int8[], $11::int8[], $12::bytea[], $13::bytea[], $14::boolean[])
            as t (id, sender_id, app, is_stored_by_clients, is_read_once, priority, collapse_id, place, seed, created_at,
                expires_at, payload, alert, is_end_to_end)
        """

    private static let recipients = """
        insert into recipient (notification_id, user_id, change, changed_at, mac)
        select * from unnest($15::int8[], $16::int8[], $17::int8[], $18::int8[], $19::int8[])
        """

    private static let pushes = """
        insert into push (notification_id, device, user_id, lane, is_bulk, due_at, reason)
        select t.id, t.device, t.user_id, t.lane, false, t.due_at, t.reason
        from unnest($20::int8[], $21::int8[], $22::int8[], $23::text[], $24::int8[], $25::text[])
            as t (id, device, user_id, lane, due_at, reason)
        """

    static let insertion = "with n as (\(Self.notifications)), r as (\(Self.recipients)) \(Self.pushes)"

    static let insertionWithSchedule = """
        with n as (\(Self.notifications) returning id, sequence), r as (\(Self.recipients)), p as (\(Self.pushes)),
        s as (
            insert into scheduled (notification_id, due_at, sequence, expressions, platforms)
            select n.id, t.due_at, n.sequence, t.expressions, t.platforms
            from unnest($26::int8[], $27::int8[], $28::bytea[], $29::text[]) as t (id, due_at, expressions, platforms)
            join n on n.id = t.id)
        select n.id, n.sequence from n
        """

    static let untakenInsertion = """
        insert into untaken (notification_id, user_id) select * from unnest($1::int8[], $2::int8[])
        """
}
