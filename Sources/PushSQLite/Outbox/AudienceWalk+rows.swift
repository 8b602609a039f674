internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension AudienceWalk {
    /// Reads the next rows, at most a page, and moves past all of them.
    ///
    /// Returns the devices and users of the audience among them, and whether that was the last
    /// page. A page of users may have more devices than rows.
    mutating func take(
        _ page: Int,
        of audience: HashedAudience,
        _ db: Database
    ) throws -> (page: AudiencePage, isLast: Bool) {
        if audience.isOneDevice { return (AudiencePage(devices: try audience.devices(where: "true", db)), true) }
        let branch = audience.branches[self.branch]
        let (found, end): (AudiencePage, Int64?)
        if case .devicesWith(let tag) = branch, audience.isOneTag {
            // Nearly all posts take this way: one statement that is compiled once, instead of
            // two statements, one of them built each time.
            (found, end) = try Self.page(ofTag: tag, after: self.cursor, page, db)
        } else {
            end = try branch.end(db, from: self.cursor, page: page)
            found = try Self.page(of: branch, audience, self.cursor, end ?? .max, db)
        }
        self.cursor = end ?? 0
        if end == nil { try self.moveToNextBranch(of: audience, db) }
        return (found, self.branch == audience.branches.count)
    }

    private mutating func moveToNextBranch(of audience: HashedAudience, _ db: Database) throws {
        repeat {
            self.branch += 1
        } while try self.branch < audience.branches.count && audience.branches[self.branch].isEmpty(db)
    }

    /// The devices that are not retired among the next rows with a tag, and the last of these rows
    /// if they fill a page.
    private static func page(
        ofTag tag: Data,
        after start: Int64,
        _ page: Int,
        _ db: Database
    ) throws -> (page: AudiencePage, end: Int64?) {
        var (rows, last, devices) = (0, Int64(0), [AudienceDevice]())
        try db.each(prepared: Self.tagged, values: [tag, start, page]) { row in
            rows += 1
            last = row.integer(0)
            if row.integer(4) != 0 { devices.append(AudienceDevice(row)) }
        }
        return (AudiencePage(devices: devices), rows == page ? last : nil)
    }

    private static func page(
        of branch: AudienceBranch,
        _ audience: HashedAudience,
        _ start: Int64,
        _ end: Int64,
        _ db: Database
    ) throws -> AudiencePage {
        switch branch {
        case .nothing: return AudiencePage()
        case .user(let key): return AudiencePage(users: try audience.users(where: "u.name_key = \(key)", db))
        case .devices:
            return AudiencePage(
                devices: try audience.devices(where: "d.number > \(start) and d.number <= \(end)", db)
            )
        case .devicesWith(let tag):
            let range: SQL = """
                select device from device_tag where tag = \(tag) and device > \(start) and device <= \(end)
                """
            return AudiencePage(devices: try audience.devices(where: "d.number in (\(range))", db))
        case .usersWith(let tag):
            let range: SQL = """
                select user_id from user_tag where tag = \(tag) and user_id > \(start) and user_id <= \(end)
                """
            return AudiencePage(
                devices: try audience.devices(where: "d.user_id in (\(range))", db),
                users: try audience.users(where: "u.id in (\(range))", db)
            )
        }
    }

    static let tagged = """
        select d.number, d.user_id, d.lane, d.id, d.retired_at is null and d.handle is not null
        from device_tag t cross join device d on d.number = t.device
        where t.tag = ? and t.device > ? order by t.device limit ?
        """
}

extension AudienceDevice {
    init(_ row: borrowing DirectRow) {
        self.init(number: row.integer(0), user: row.integer(1), lane: row.text(2), id: row.text(3))
    }
}
