internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Inserts the recipients of a notification, and the pushes to their devices, page by page within
/// one transaction.
struct PushInsertion {
    /// The number of inserted pushes, and the number of those that are due now.
    private(set) var count = 0
    private(set) var dueCount = 0
    var recipientCount: Int { self.newRecipients.count }
    private let tx: WriteTransaction
    private let target: PushTarget
    private let isBulk: Bool
    private let now: Date
    /// The users who have become recipients in this transaction.
    private var newRecipients: Set<Int64>
    /// The users who were recipients before this transaction and have not dismissed the
    /// notification.
    private var earlierRecipients: Set<Int64> = []

    init(_ target: PushTarget, isBulk: Bool, newRecipients: Set<Int64> = [], _ tx: WriteTransaction, now: Date) {
        (self.target, self.isBulk, self.newRecipients, self.tx, self.now) = (target, isBulk, newRecipients, tx, now)
    }

    /// Makes the users of a page recipients, and inserts pushes to the page's devices. Skips a
    /// device that already has a push of this notification, or a newer notification with the same
    /// collapse key. Also skips the devices of users who have dismissed the notification.
    mutating func insert(_ page: AudiencePage) async throws {
        try await self.addRecipients(Set(page.devices.map(\.user)).union(page.users))
        let known = page.devices.filter {
            self.newRecipients.contains($0.user) || self.earlierRecipients.contains($0.user)
        }
        let devices = try await self.newest(known.sorted { $0.number < $1.number })
        if !devices.isEmpty { try await self.enqueue(devices) }
    }

    // MARK: - Private

    private mutating func addRecipients(_ users: Set<Int64>) async throws {
        let users = users.subtracting(self.newRecipients).subtracting(self.earlierRecipients).sorted()
        if users.isEmpty { return }
        let new = try await self.tx.insertRecipients(users: users, of: self.target, now: self.now)
        self.newRecipients.formUnion(new)
        let others = users.filter { !new.contains($0) }
        if others.isEmpty { return }
        let rows = try await self.tx.query(Self.earlier, self.target.id, others)
        self.earlierRecipients.formUnion(try rows.map { try $0.integer() })
    }

    /// Selects the earlier recipients, and locks their rows. A dismissal at the same time then
    /// waits, and afterwards sees the inserted push.
    static let earlier = """
        select t.user_id from pg_catalog.unnest($2::int8[]) as t (user_id)
        \(RecipientKey.lookup.join(
            "1", of: "recipient", as: "r", with: "t", ["notification_id": "$1"], condition: "and dismissed_at is null",
            lock: "for share"
        ))
        """

    private mutating func enqueue(_ devices: [AudienceDevice]) async throws {
        let away = try await self.away(devices)
        let rows = try await self.tx.query(
            Self.insertion,
            self.target.id,
            self.isBulk,
            devices.map(\.number),
            devices.map(\.user),
            devices.map(\.lane),
            devices.map { away.contains($0.number) ? nil : self.now.milliseconds } as [Int64?],
            devices.map { away.contains($0.number) ? PushReason.away : nil } as [String?]
        )
        for row in rows {
            self.tx.count(.enqueued, lane: try row.text("lane"))
            self.count += 1
            if !away.contains(try row.integer("device")) { self.dueCount += 1 }
        }
    }

    /// Inserts pushes, except to devices whose push has already ended: the walk over the audience
    /// may find a device twice.
    ///
    /// The lookup is a scalar subquery. `not exists` would become a join, which reads all ended
    /// pushes of the notification for each page.
    static let insertion = """
        insert into push (notification_id, device, user_id, lane, is_bulk, due_at, reason)
        select $1, d.device, d.user_id, d.lane, $2, d.due_at, d.reason
        from unnest($3::int8[], $4::int8[], $5::text[], $6::int8[], $7::text[])
            as d (device, user_id, lane, due_at, reason)
        where (select e.device from push_end e where e.notification_id = $1 and e.device = d.device) is null
        on conflict (notification_id, device) do nothing
        returning device, lane
        """

    /// The devices among `devices` that cannot be reached before they connect. Their pushes wait
    /// without a due time.
    ///
    /// When a device connects, a transaction locks its user's counter of changes, and makes its
    /// pushes due. This transaction already holds the locks on the counters of new recipients. For
    /// earlier recipients, it locks their counters and then checks again.
    private func away(_ devices: [AudienceDevice]) async throws -> Set<Int64> {
        let byStream = devices.filter { self.tx.streamLanes.contains($0.lane) }
        if byStream.isEmpty { return [] }
        let away = try await self.silent(byStream)
        let users = Set(away.map(\.user)).subtracting(self.newRecipients)
        if users.isEmpty { return Set(away.map(\.number)) }
        try await self.tx.lockCounters(of: users)
        return Set(try await self.silent(away).map(\.number))
    }

    /// The devices among `devices` that have no event stream at any server.
    private func silent(_ devices: [AudienceDevice]) async throws -> [AudienceDevice] {
        let holders = try await self.tx.holders(of: devices.map(\.number))
        return devices.filter { holders[$0.number] == nil }
    }
}

/// Collapse keys: of several notifications with the same key, a device gets only the newest.
extension PushInsertion {
    /// Stores the notification as the newest with its collapse key for these devices, and cancels
    /// their pushes of older notifications. Returns the devices that do not have a newer
    /// notification.
    private func newest(_ devices: [AudienceDevice]) async throws -> [AudienceDevice] {
        let target = self.target
        guard let collapseID = target.collapseID, !devices.isEmpty else { return devices }
        var first: Set<Int64> = []
        // The devices' newest notifications with the collapse key.
        var others: [(push: DuePush, sequence: Int64)] = []
        var left = devices.map(\.number)
        // The loop tries again if a row was deleted between its two statements.
        while !left.isEmpty {
            let inserted = try await self.tx.query(Self.insertCollapse, left, collapseID, target.id, target.sequence)
            first.formUnion(try inserted.map { try $0.integer() })
            left.removeAll(where: first.contains)
            if left.isEmpty { break }
            let found = try await self.tx.query(Self.lockNewest, left, collapseID).map { row in
                (push: try DuePush(row), sequence: try row.integer("sequence"))
            }
            others += found
            let known = Set(found.map(\.push.device))
            left.removeAll(where: known.contains)
        }
        let older = others.filter { target.replaces($0.push.notification, sequence: $0.sequence) == true }
        try await self.replace(older.map(\.push), collapseID)
        let newer = others.filter { target.replaces($0.push.notification, sequence: $0.sequence) == false }
        let superseded = Set(newer.map(\.push.device))
        return devices.filter { !superseded.contains($0.number) }
    }

    private func replace(_ older: [DuePush], _ collapseID: String) async throws {
        if older.isEmpty { return }
        let (devices, target) = (older.map(\.device), self.target)
        _ = try await self.tx.query(Self.replaceNewest, devices, collapseID, target.id, target.sequence)
        try await self.tx.cancel(older, reason: PushReason.replaced, now: self.now)
    }

    private static let replaceNewest = """
        update collapse set notification_id = $3, sequence = $4 where device = any($1::int8[]) and collapse_id = $2
        """

    static let insertCollapse = """
        insert into collapse (device, collapse_id, notification_id, sequence)
        select d.device, $2, $3, $4 from pg_catalog.unnest($1::int8[]) as d (device) order by d.device
        on conflict (device, collapse_id) do nothing returning device
        """

    static let lockNewest = """
        select device, notification_id, sequence from collapse
        where device = any($1::int8[]) and collapse_id = $2 order by device for update
        """
}
