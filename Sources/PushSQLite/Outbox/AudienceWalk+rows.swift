internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

extension AudienceWalk {
    /// Reads the next rows, at most `page`, and moves past them.
    ///
    /// Returns the audience's devices and users among these rows. Also returns whether this was
    /// the last page. If the rows are users, these users may have more devices than `page`.
    mutating func take(
        _ page: Int,
        of audience: HashedAudience,
        _ db: Database
    ) throws -> (page: AudiencePage, isLast: Bool) {
        if audience.isOneDevice { return (AudiencePage(devices: try audience.devices(where: "true", db)), true) }
        let branch = audience.branches[self.branch]
        var (found, end): (AudiencePage, Int64?)
        if case .devicesWith(let tag) = branch, audience.isOneTag {
            // Nearly all posts take this fast path. It needs one statement, which is compiled
            // once; the other path needs two, one of which is built each time.
            (found, end) = try self.page(ofTag: tag, page, db)
        } else {
            end = try branch.end(db, from: self.cursor, page: page)
            found = try self.page(of: branch, audience, to: end ?? .max, db)
        }
        found.keepDevices(of: audience.audience)
        self.cursor = end ?? 0
        if end == nil { try self.moveToNextBranch(of: audience, db) }
        return (found, self.branch == audience.branches.count)
    }

    private mutating func moveToNextBranch(of audience: HashedAudience, _ db: Database) throws {
        repeat {
            self.branch += 1
        } while try self.branch < audience.branches.count && audience.branches[self.branch].isEmpty(db)
    }

    /// The next rows of a tag: their devices, without the retired ones. If these rows fill a page,
    /// also returns the last row.
    private func page(ofTag tag: Data, _ page: Int, _ db: Database) throws -> (page: AudiencePage, end: Int64?) {
        var (rows, last, devices) = (0, Int64(0), [AudienceDevice]())
        let row = try db.rows(SQL(sql: Self.tagged), [tag, self.cursor, page])
        while try row.step() {
            rows += 1
            last = try row.integer(AudienceDevice.Column.number)
            if try row.flag(AudienceDevice.Column.isRegistered) { devices.append(try AudienceDevice(row)) }
        }
        return (AudiencePage(devices: devices), rows == page ? last : nil)
    }

    private func page(
        of branch: AudienceBranch,
        _ audience: HashedAudience,
        to end: Int64,
        _ db: Database
    ) throws -> AudiencePage {
        let start = self.cursor
        switch branch {
        case .nothing: return AudiencePage()
        case .user(let key): return AudiencePage(users: try audience.users(where: "u.name_key = \(key)", db))
        case .devices:
            return AudiencePage(devices: try audience.devices(where: "d.number > \(start) and d.number <= \(end)", db))
        case .devicesWith(let tag):
            let range: SQL =
                "select device from device_tag where tag = \(tag) and device > \(start) and device <= \(end)"
            return AudiencePage(devices: try audience.devices(where: "d.number in (\(range))", db))
        case .usersWith(let tag):
            let range: SQL =
                "select user_id from user_tag where tag = \(tag) and user_id > \(start) and user_id <= \(end)"
            return AudiencePage(
                devices: try audience.devices(where: "d.user_id in (\(range))", db),
                users: try audience.users(where: "u.id in (\(range))", db)
            )
        }
    }

    static let tagged = """
        select \(AudienceDevice.columns)
        from device_tag t cross join device d on d.number = t.device
        where t.tag = ? and t.device > ? order by t.device limit ?
        """
}

extension AudienceDevice {
    /// The columns of a row of `device` (alias `d`).
    fileprivate enum Column: Int32, SelectedColumn {
        case number, userID, lane, id, isRegistered

        var sql: String {
            self == .isRegistered ? "d.retired_at is null and d.handle is not null" : "d.\(self.columnName)"
        }
    }

    fileprivate static let columns = Column.list

    fileprivate init(_ row: borrowing DirectRow) throws {
        let (number, user) = (try row.integer(Column.number), try row.integer(Column.userID))
        self.init(number: number, user: user, lane: try row.text(Column.lane), id: try row.text(Column.id))
    }
}

extension AudienceBranch {
    /// Whether this branch of an audience certainly has no rows. Reads at most one row.
    func isEmpty(_ db: Database) throws -> Bool {
        switch self {
        case .nothing: true
        case .usersWith: try self.count(db, atMost: 1) == 0
        case .devices, .devicesWith, .user: false
        }
    }

    /// The number of the branch's rows; counting stops at a limit.
    func count(_ db: Database, atMost limit: Int) throws -> Int {
        guard let (rows, _) = self.source else { return 0 }
        return Int(try db.number("select count(*) from (select 1 from \(rows) limit \(limit))") ?? 0)
    }

    /// The last row of the page that begins after `start`; `nil` if fewer rows than a page remain.
    func end(_ db: Database, from start: Int64, page: Int) throws -> Int64? {
        guard let (rows, column) = self.source else { return nil }
        return try db.number(
            "select \(column) from \(rows) and \(column) > \(start) order by \(column) limit 1 offset \(page - 1)"
        )
    }

    /// The rows of a branch (a part of the audience), and the column that orders them. `nil` for a
    /// branch that is a single user or empty.
    private var source: (rows: SQL, column: SQL)? {
        switch self {
        case .devices: ("device where true", "number")
        case .devicesWith(let tag): ("device_tag where tag = \(tag)", "device")
        case .usersWith(let tag): ("user_tag where tag = \(tag)", "user_id")
        case .user, .nothing: nil
        }
    }
}

extension HashedAudience {
    /// Whether the audience may have more than `page` devices and users together.
    func isLarger(than page: Int, _ db: Database) throws -> Bool {
        if self.isOneDevice { return false }
        var sum = 0
        for branch in self.branches where sum <= page { sum += try branch.count(db, atMost: page + 1) }
        return sum > page
    }

    /// The devices of the audience among those rows of `device` (alias `d`) that satisfy `range`.
    func devices(where range: SQL, _ db: Database) throws -> [AudienceDevice] {
        let columns = AudienceDevice.columns
        let request: SQL = "select \(sql: columns) from device d where \(range) and \(self.onDevice)"
        return try db.all(composed: request, decode: AudienceDevice.init)
    }

    /// The users of the audience among those rows of `account` (alias `u`) that satisfy `range`.
    func users(where range: SQL, _ db: Database) throws -> [Int64] {
        let request: SQL = "select u.id from account u where \(range) and \(self.onUser)"
        return try db.all(composed: request) { try $0.integer() }
    }
}
