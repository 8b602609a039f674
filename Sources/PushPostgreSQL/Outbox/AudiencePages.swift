internal import Foundation
internal import PostgreSQL
internal import PushCore
internal import PushStore

/// Reads an audience page by page within one transaction.
struct AudiencePages {
    private let audience: HashedAudience
    private let condition: AudienceCondition
    private let tx: WriteTransaction

    init(_ audience: HashedAudience, _ tx: WriteTransaction) {
        (self.audience, self.condition, self.tx) = (audience, AudienceCondition(audience), tx)
    }

    /// The rows of one page of the audience, and whether further rows follow.
    struct Page {
        var rows = AudiencePage()
        /// Whether more rows of the same branch (a tag, a user or all devices) follow this page.
        var hasMore = false
        var isLast = false
    }

    /// Reads the next rows, at most `page`, and moves `walk` past them.
    ///
    /// If a branch selects users, `page` limits their number. These users may have more devices
    /// than `page`.
    func take(_ page: Int, at walk: inout AudienceWalk) async throws -> Page {
        if case .device(let id, let user) = self.audience.audience.aim {
            let devices = try await self.tx.query(Self.oneDevice, id.description, user).compactMap(Self.device)
            return Page(rows: AudiencePage(devices: devices), isLast: true)
        }
        self.skipNothing(&walk)
        guard walk.branch < self.audience.branches.count else { return Page(isLast: true) }
        var (found, end) = try await self.rows(of: self.audience.branches[walk.branch], after: walk.cursor, page)
        found.rows.keepDevices(of: self.audience.audience)
        walk.cursor = end ?? 0
        found.hasMore = end != nil
        if end == nil {
            walk.branch += 1
            try await self.skipEmpty(&walk)
        }
        found.isLast = walk.branch == self.audience.branches.count
        return found
    }

    /// Whether the audience may have more than `page` devices and users together.
    func isLarger(than page: Int) async throws -> Bool {
        if self.audience.isOneDevice { return false }
        var (devices, users): ([Data], [Data]) = ([], [])
        for branch in self.audience.branches {
            switch branch {
            case .devices: return true
            case .devicesWith(let tag): devices.append(tag)
            case .usersWith(let tag): users.append(tag)
            case .user, .nothing: break
            }
        }
        let count = try await self.tx.query(Self.count, devices, users, page + 1).first?.integer() ?? 0
        return count > Int64(page)
    }

    // MARK: - Private

    private func skipNothing(_ walk: inout AudienceWalk) {
        while walk.branch < self.audience.branches.count, self.audience.branches[walk.branch] == .nothing {
            walk.branch += 1
        }
    }

    /// Moves past branches that certainly have no rows. So the walk recognises the last page.
    private func skipEmpty(_ walk: inout AudienceWalk) async throws {
        self.skipNothing(&walk)
        while walk.branch < self.audience.branches.count,
            case .usersWith(let tag) = self.audience.branches[walk.branch],
            try await self.tx.query("select 1 from user_tag where tag = $1 limit 1", tag).count == 0
        {
            walk.branch += 1
            self.skipNothing(&walk)
        }
    }

    /// The next rows of a branch. If further rows follow, also returns the last row of this page.
    private func rows(of branch: AudienceBranch, after start: Int64, _ page: Int) async throws -> (Page, end: Int64?) {
        switch branch {
        case .nothing: return (Page(), nil)
        case .user(let key):
            let users = try await self.query(self.user, start, page, key).map { try $0.integer() }
            return (Page(rows: AudiencePage(users: users)), nil)
        case .devices: return try self.devices(try await self.query(self.allDevices, start, page, Data()), page)
        case .devicesWith(let tag):
            return try self.devices(try await self.query(self.taggedDevices, start, page, tag), page)
        case .usersWith(let tag):
            return try self.users(try await self.query(self.taggedUsers, start, page, tag), page)
        }
    }

    /// Requests one row more than the page has: the additional row shows that further rows follow.
    private func query(_ sql: String, _ start: Int64, _ page: Int, _ key: Data) async throws -> Rows {
        let condition = self.condition
        return try await self.tx.query(sql, condition.hashes, condition.platforms, condition.app, start, page + 1, key)
    }

    private func devices(_ rows: Rows, _ page: Int) throws -> (Page, end: Int64?) {
        var found = Page()
        var end: Int64?
        for (index, row) in rows.prefix(page).enumerated() {
            if let device = try Self.device(row) { found.rows.devices.append(device) }
            if index == page - 1, rows.count > page { end = try row.integer("number") }
        }
        return (found, end)
    }

    private func users(_ rows: Rows, _ page: Int) throws -> (Page, end: Int64?) {
        var found = Page()
        var (user, count): (Int64?, Int) = (nil, 0)
        for row in rows {
            let next = try row.integer("user_id")
            if next != user {
                if count == page { return (found, user) }
                (user, count) = (next, count + 1)
                if try row.flag("is_user") { found.rows.users.append(next) }
            }
            if let device = try Self.device(row) { found.rows.devices.append(device) }
        }
        return (found, nil)
    }

    /// The device in a row; `nil` if it is not in the audience, or if a user has no device.
    private static func device(_ row: Row) throws -> AudienceDevice? {
        guard let number = try row.optionalInteger("number"), let user = try row.optionalInteger("user_id") else {
            return nil
        }
        return AudienceDevice(number: number, user: user, lane: try row.text("lane"), id: try row.text("id"))
    }
}

/// The statements that read the pages. `$4` is the row after which a page begins, `$5` the maximum
/// number of its rows, and `$6` the tag or name of the branch.
extension AudiencePages {
    private static let byTag = PairIndex(first: "tag", second: "device")
    private static let usersByTag = PairIndex(first: "tag", second: "user_id")

    static let oneDevice = """
        select d.number, d.user_id, d.lane, d.id from device d
        where d.id = $1 and d.user_id = $2 and \(AudienceCondition.activeDevice)
        """

    static let count = """
        select (
            select count(*) from pg_catalog.unnest($1::bytea[]) as k (tag)
            cross join lateral (select 1 from device_tag t where t.tag = k.tag limit $3) as x)
        + (
            select count(*) from pg_catalog.unnest($2::bytea[]) as k (tag)
            cross join lateral (select 1 from user_tag t where t.tag = k.tag limit $3) as x)
        """

    var user: String { "select u.id from account u where u.name_key = $6 and \(self.condition.onUser)" }

    var allDevices: String {
        """
        select d.number, case when \(self.condition.onDevice) then d.user_id end as user_id, d.lane, d.id from device d
        where d.number > $4 order by d.number limit $5
        """
    }

    /// Selects devices by a tag. Because of the inner limit, PostgreSQL reads only the devices of
    /// this page.
    var taggedDevices: String {
        """
        with r as materialized (
            select device from device_tag where \(Self.byTag.rows(of: "$6", after: "$4"))
            order by \(Self.byTag.order) limit $5)
        select r.device as number, v.user_id, v.lane, v.id from r
        left join lateral (
            select d.user_id, d.lane, d.id from device d
            where d.number = r.device and \(self.audience.isOneTag ? AudienceCondition.activeDevice : self.condition.onDevice)
            limit 1) as v on true
        order by r.device
        """
    }

    var taggedUsers: String {
        """
        with r as materialized (
            select user_id from user_tag where \(Self.usersByTag.rows(of: "$6", after: "$4"))
            order by \(Self.usersByTag.order) limit $5)
        select r.user_id, a.id is not null as is_user, v.number, v.lane, v.id from r
        left join lateral (
            select u.id from account u where u.id = r.user_id and \(self.condition.onUser) limit 1) as a on true
        left join lateral (
            select d.number, d.lane, d.id from device d
            where d.user_id = r.user_id and \(self.condition.onDevice) offset 0) as v on true
        order by r.user_id, v.number
        """
    }
}
