internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// A living device of an audience.
struct AudienceDevice {
    let number: Int64
    let user: Int64
    let lane: String
    /// The registration id.
    let id: String
}

/// An audience with the keyed hashes for its lookups, which are made before the writer runs.
struct HashedAudience {
    let audience: Audience
    /// The users that the audience names.
    let users: [(name: Username, key: Data)]
    /// The tags of which each device of the audience has at least one; `nil` if there are no such tags.
    let branches: [Data]?
    /// Whether the only condition on a device is one tag.
    let isOneTag: Bool
    let index: BlindIndex

    init(_ audience: Audience, _ index: BlindIndex) {
        self.audience = audience
        self.index = index
        self.users = audience.usernames.map { ($0, index.hash($0)) }
        self.branches = audience.branches?.map(index.hash)
        if audience.platforms == nil, audience.expressions.count == 1, case .tag = audience.expressions[0] {
            self.isOneTag = true
        } else {
            self.isOneTag = false
        }
    }

    /// Whether the audience is one device of a user.
    var isOneDevice: Bool { if case .device = self.audience.aim { true } else { false } }

    /// Whether the audience may have more than `page` devices.
    func isLarger(than page: Int, _ db: Database) throws -> Bool {
        if self.isOneDevice { return false }
        guard let branches else {
            let count = try db.first(prepared: "select count(*) from (select 1 from device limit ?)", page + 1) {
                $0.integer(0)
            }
            return (count ?? 0) > page
        }
        var sum: Int64 = 0
        for branch in branches where sum <= page {
            let count = try db.first(
                prepared: "select count(*) from (select 1 from device_tag where tag = ? limit ?)",
                branch,
                page + 1
            ) { $0.integer(0) }
            sum += count ?? 0
        }
        return sum > page
    }

    fileprivate func devices(where range: SQL, _ db: Database) throws -> [AudienceDevice] {
        let request: SQLRequest<Row> = """
            select d.number, d.user_id, d.lane, d.id from device d
            where \(range) and \(self.audience.condition(self.index))
            """
        return try request.fetchAll(db).map {
            AudienceDevice(number: try $0[0], user: try $0[1], lane: try $0[2], id: try $0[3])
        }
    }
}

/// The position of a walk along an audience, which is all that must survive a crash.
struct AudienceWalk {
    /// The index of the audience's branch.
    var branch = 0
    /// The last device that the walk has passed.
    var cursor: Int64 = 0

    /// Reads the next devices, at most a page, calls `body` with those of the audience, and moves past all of them.
    ///
    /// Returns whether that was the last page.
    mutating func take(
        _ page: Int,
        of audience: HashedAudience,
        _ db: Database,
        _ body: (AudienceDevice) throws -> Void
    ) throws -> Bool {
        if audience.isOneDevice {
            for device in try audience.devices(where: "true", db) { try body(device) }
            return true
        }
        let start = self.cursor
        let tag = audience.branches.map { $0[self.branch] }
        let end = try Self.end(db, of: tag, from: start, page: page)
        for device in try Self.devices(audience, tag: tag, start, end ?? .max, db) { try body(device) }
        self.cursor = end ?? 0
        if end == nil { self.branch += 1 }
        return end == nil && self.branch >= audience.branches?.count ?? 1
    }

    /// The last device of a page; `nil` if fewer devices than a page are left.
    private static func end(_ db: Database, of tag: Data?, from start: Int64, page: Int) throws -> Int64? {
        guard let tag else {
            return try db.first(
                prepared: "select number from device where number > ? order by number limit 1 offset ?",
                start,
                page - 1
            ) { $0.integer(0) }
        }
        return try db.first(
            prepared: "select device from device_tag where tag = ? and device > ? order by device limit 1 offset ?",
            tag,
            start,
            page - 1
        ) { $0.integer(0) }
    }

    private static func devices(
        _ audience: HashedAudience,
        tag: Data?,
        _ start: Int64,
        _ end: Int64,
        _ db: Database
    ) throws -> [AudienceDevice] {
        guard let tag else {
            return try audience.devices(where: "d.number > \(start) and d.number <= \(end)", db)
        }
        guard audience.isOneTag else {
            return try audience.devices(
                where: """
                    d.number in (select device from device_tag where tag = \(tag) and device > \(start) and device <= \(end))
                    """,
                db
            )
        }
        // The query of nearly all posts; the SQL of the others is built each time.
        return try db.all(prepared: Self.tagged, tag, start, end) { AudienceDevice($0) }
    }

    static let tagged = """
        select d.number, d.user_id, d.lane, d.id from device_tag t cross join device d on d.number = t.device
        where t.tag = ? and t.device > ? and t.device <= ? and d.retired_at is null and d.handle is not null
        """
}

extension AudienceDevice {
    fileprivate init(_ row: borrowing DirectRow) {
        self.init(number: row.integer(0), user: row.integer(1), lane: row.text(2), id: row.text(3))
    }
}
