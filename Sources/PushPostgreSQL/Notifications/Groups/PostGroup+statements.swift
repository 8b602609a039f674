internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// A device that gets a push of a group.
struct GroupDevice {
    let number: Int64
    let user: Int64
    let lane: String
    /// Whether the device cannot be reached until it connects; its push is parked.
    let isAway: Bool
}

/// A row of `push`.
struct GroupPush {
    let id: Int64
    let seed: Int64
    /// The time when the notification was stored, in milliseconds.
    let createdAt: Int64
    let device: GroupDevice

    var dueAt: Int64? { self.device.isAway ? nil : self.createdAt }
    var reason: String? { self.device.isAway ? PushReason.away : nil }
}

extension PostGroup.Chosen {
    fileprivate var pushes: [GroupPush] {
        let notification = self.post.notification
        return self.devices.map { device in
            GroupPush(
                id: notification.id.rawValue,
                seed: self.post.seed,
                createdAt: notification.createdAt.milliseconds,
                device: device
            )
        }
    }
}

/// A row of `recipient`.
struct GroupRecipient {
    let id: Int64
    let seed: Int64
    let user: Int64
    let change: Int64
    /// The time when the notification was stored, in milliseconds.
    let createdAt: Int64
    let isReadOnce: Bool
    let mac: Int64
}

extension NewPost {
    /// Whether the post can join a group: it names its users, goes to all their devices, and is
    /// not scheduled. Such a post needs no lock before the locks of its users' counters, which are
    /// the first ones of a group.
    var joinsOthers: Bool {
        let (notification, audience) = (self.notification, self.notification.audience)
        return notification.sendAt == nil && notification.collapseID == nil && audience.platforms == nil
            && !audience.expressions.isEmpty && audience.usernames.count == audience.expressions.count
    }
}

extension HashedAudience {
    /// The tags of the devices in the branches of the audience.
    var deviceTags: [Data] {
        self.branches.compactMap { branch in
            if case .devicesWith(let tag) = branch { tag } else { nil }
        }
    }
}

/// The statements of a group.
extension PostGroup {
    /// The result of `look`.
    struct Found {
        var users: [Data: PostBatch.NamedUser] = [:]
        var usage: [Int64: Usage] = [:]
        /// The posts' ids that are already in use.
        var takenIDs: Set<Int64> = []
    }

    /// Finds the users whom the posts name, locked against deletion, the usage of their senders,
    /// and the ids that are in use.
    static func lookUp(for posts: [NewPost], _ senders: [Int64]) throws -> Statement {
        try Statement(Self.lookup, Self.userKeys(of: posts), senders, posts.map(\.notification.id.rawValue))
    }

    static func found(_ rows: Rows) throws -> Found {
        var found = Found()
        for row in rows.map({ $0 }) {
            let id = try row.integer(0)
            if let key = try row.optionalData(1) {
                found.users[key] = PostBatch.NamedUser(id: id, apps: Set(storedApps: try row.optionalText(2)))
            } else if let notifications = try row.optionalInteger(3) {
                found.usage[id] = Usage(notifications: notifications, bytes: try row.integer(4))
            } else {
                found.takenIDs.insert(id)
            }
        }
        return found
    }

    static let lookup = """
        with a as (
            select id, name_key, apps from account where name_key = any($1::bytea[]) order by id for key share)
        select a.id, a.name_key, a.apps, null::int8, null::int8 from a
        union all select u.user_id, null, null, u.notifications, u.bytes from usage u where u.user_id = any($2::int8[])
        union all select n.id, null, null, null, null from notification n where n.id = any($3::int8[])
        """

    /// Draws change numbers, as `WriteTransaction.draw` does, before the users of the names are
    /// known, and which of the posts will be stored. So it draws, for each user, one number for
    /// each post that names the user.
    static func draw(for posts: [NewPost]) throws -> Statement {
        var counts: [Data: Int] = [:]
        for post in posts { for key in Set(post.audience.users.map(\.key)) { counts[key, default: 0] += 1 } }
        return try Statement(Self.nextChanges, Array(counts.keys), counts.values.max() ?? 1)
    }

    static let nextChanges = WriteTransaction.nextChanges(
        ofUsers: "(select id as user_id from account where name_key = any($1::bytea[])) as u"
    )

    private static func userKeys(of posts: [NewPost]) -> [Data] {
        Array(Set(posts.flatMap { $0.audience.users.map(\.key) }))
    }

    /// Adds to the usage of senders, and locks it. `added` is sorted by sender.
    static func adding(_ added: [(sender: Int64, usage: Usage)]) throws -> Statement {
        try Statement(
            Self.usageAddition,
            added.map(\.sender),
            added.map(\.usage.notifications),
            added.map(\.usage.bytes)
        )
    }

    /// Adds the usage, and fails if a sender then exceeds the given maximum.
    static func adding(_ added: [(sender: Int64, usage: Usage)], most: [Int64: Usage]) throws -> Statement {
        if most.isEmpty { return try Self.adding(added) }
        return try Statement(
            Self.usageAdditionWithinBounds,
            added.map(\.sender),
            added.map(\.usage.notifications),
            added.map(\.usage.bytes),
            added.map { most[$0.sender]?.notifications },
            added.map { most[$0.sender]?.bytes }
        )
    }

    static func usage(_ rows: Rows) throws -> [Int64: Usage] {
        var usage: [Int64: Usage] = [:]
        for row in rows.map({ $0 }) {
            usage[try row.integer(0)] = Usage(notifications: try row.integer(1), bytes: try row.integer(2))
        }
        return usage
    }

    static let usageAddition = """
        insert into usage (user_id, notifications, bytes)
        select t.user_id, t.notifications, t.bytes
        from unnest($1::int8[], $2::int8[], $3::int8[]) as t (user_id, notifications, bytes) order by t.user_id
        on conflict (user_id) do update set notifications = usage.notifications + excluded.notifications,
            bytes = usage.bytes + excluded.bytes
        returning user_id, notifications, bytes
        """

    /// Fails with a number out of range (22003) if a limit is exceeded.
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

    /// Finds the devices with each of the posts' tags, up to a limit. The counters of their users
    /// must be locked, so that no device opens or loses its only event stream meanwhile.
    static func findDevices(of posts: [NewPost], _ streamLanes: Set<String>) throws -> Statement {
        let tags = Set(posts.flatMap(\.audience.deviceTags))
        return try Statement(Self.taggedDevices, Array(tags), AudienceWalk.page + 1, streamLanes.sorted())
    }

    static func devices(_ rows: Rows) throws -> [Data: [GroupDevice]] {
        var devices: [Data: [GroupDevice]] = [:]
        for row in rows.map({ $0 }) {
            let device = GroupDevice(
                number: try row.integer(1),
                user: try row.integer(2),
                lane: try row.text(3),
                isAway: try row.boolean(4)
            )
            devices[try row.data(0), default: []].append(device)
        }
        return devices
    }

    private static let taggedDevices = """
        select k.tag, v.number, v.user_id, v.lane,
            case when v.lane = any($3::text[]) then \(StreamHolder.holder(of: "v.number")) is null else false end
        from pg_catalog.unnest($1::bytea[]) as k (tag)
        cross join lateral (
            select d.number, d.user_id, d.lane from device_tag t join device d on d.number = t.device
            where t.tag = k.tag and \(AudienceCondition.activeDevice) limit $2) as v
        """

    /// Inserts the notifications whose ids are free, with their recipients and pushes; `seeds`
    /// returns the inserted ones.
    static func insertion(of chosen: [Chosen], _ recipients: [GroupRecipient]) throws -> Statement {
        let pushes = chosen.flatMap(\.pushes)
        return try Statement(
            Self.insertion,
            values: Self.notificationValues(chosen) + [
                recipients.map(\.id),
                recipients.map(\.seed),
                recipients.map(\.user),
                recipients.map(\.change),
                recipients.map(\.mac),
                pushes.map(\.id),
                pushes.map(\.seed),
                pushes.map(\.device.number),
                pushes.map(\.device.user),
                pushes.map(\.device.lane),
                pushes.map(\.dueAt),
                pushes.map(\.reason),
            ]
        )
    }

    /// The insertion for a first run, which fails (23505) if an id is taken. So the order of its
    /// parts does not matter.
    static func insertionOfAll(_ chosen: [Chosen], _ recipients: [GroupRecipient]) throws -> [Statement] {
        let pushes = chosen.flatMap(\.pushes)
        let all = try Statement(
            Self.insertionOfAll,
            values: Self.notificationValues(chosen) + [
                recipients.map(\.id),
                recipients.map(\.user),
                recipients.map(\.change),
                recipients.map(\.createdAt),
                recipients.map(\.mac),
                pushes.map(\.id),
                pushes.map(\.device.number),
                pushes.map(\.device.user),
                pushes.map(\.device.lane),
                pushes.map(\.dueAt),
                pushes.map(\.reason),
            ]
        )
        let untaken = recipients.filter(\.isReadOnce)
        if untaken.isEmpty { return [all] }
        return [all, try Statement(Self.untakenInsertion, untaken.map(\.id), untaken.map(\.user))]
    }

    /// The values of `notificationInsertion`.
    private static func notificationValues(_ chosen: [Chosen]) -> [any Bindable] {
        let notifications = chosen.map(\.post.notification)
        return [
            notifications.map(\.id.rawValue),
            notifications.map(\.sender),
            notifications.map(\.audience.app.stored),
            notifications.map(\.isStoredByClients),
            notifications.map(\.isReadOnce),
            notifications.map(\.priority.rawValue),
            notifications.map { _ in Int64.random(in: 0..<256) },
            chosen.map(\.post.seed),
            notifications.map(\.createdAt.milliseconds),
            notifications.map(\.expiresAt.milliseconds),
            chosen.map(\.payload),
            chosen.map(\.alert),
        ]
    }

    private static let notificationInsertion = """
        insert into notification (id, sender_id, app, is_stored_by_clients, is_read_once, priority,
            sequence, seed, created_at, expires_at, payload, alert)
        select t.id, t.sender_id, t.app, t.is_stored_by_clients, t.is_read_once, t.priority,
            (extract(epoch from clock_timestamp()) * 1000000)::int8 << 8 | t.random, t.seed, t.created_at, t.expires_at,
            t.payload, t.alert
        from unnest($1::int8[], $2::int8[], $3::text[], $4::boolean[], $5::boolean[], $6::text[], $7::int8[], $8::int8[],
            $9::int8[], $10::int8[], $11::bytea[], $12::bytea[])
            as t (id, sender_id, app, is_stored_by_clients, is_read_once, priority, random, seed, created_at, expires_at,
                payload, alert)
        order by t.id
        """

    static let insertionOfAll = """
        with n as (\(notificationInsertion)),
        r as (
            insert into recipient (notification_id, user_id, change, changed_at, mac)
            select * from unnest($13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::int8[]))
        insert into push (notification_id, device, user_id, lane, is_bulk, due_at, reason)
        select t.id, t.device, t.user_id, t.lane, false, t.due_at, t.reason
        from unnest($18::int8[], $19::int8[], $20::int8[], $21::text[], $22::int8[], $23::text[])
            as t (id, device, user_id, lane, due_at, reason)
        """

    static let untakenInsertion = """
        insert into untaken (notification_id, user_id) select * from unnest($1::int8[], $2::int8[])
        """

    static func seeds(_ rows: Rows) throws -> Set<Int64> { Set(try rows.map { try $0.integer(0) }) }

    /// The insertion of `PostBatch.insertion`, for a group. A seed distinguishes a notification
    /// from another one with its id, in the table or in the same group.
    static let insertion = """
        with n as (
            \(notificationInsertion)
            on conflict (id) do nothing returning id, seed, created_at, is_read_once),
        r as (
            insert into recipient (notification_id, user_id, change, changed_at, mac)
            select n.id, t.user_id, t.change, n.created_at, t.mac
            from unnest($13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::int8[]) as t (id, seed, user_id, change, mac)
            join n on n.id = t.id and n.seed = t.seed),
        w as (
            insert into untaken (notification_id, user_id)
            select n.id, t.user_id from unnest($13::int8[], $14::int8[], $15::int8[]) as t (id, seed, user_id)
            join n on n.id = t.id and n.seed = t.seed and n.is_read_once),
        p as (
            insert into push (notification_id, device, user_id, lane, is_bulk, due_at, reason)
            select n.id, t.device, t.user_id, t.lane, false, t.due_at, t.reason
            from unnest($18::int8[], $19::int8[], $20::int8[], $21::int8[], $22::text[], $23::int8[], $24::text[])
                as t (id, seed, device, user_id, lane, due_at, reason)
            join n on n.id = t.id and n.seed = t.seed)
        select n.seed from n
        """
}
