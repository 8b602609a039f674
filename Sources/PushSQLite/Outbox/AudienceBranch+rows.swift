internal import Foundation
internal import PushStore
internal import SQLite

extension AudienceBranch {
    /// Whether the branch certainly has no rows; reads one row at most.
    func isEmpty(_ db: Database) throws -> Bool {
        switch self {
        case .nothing: true
        case .usersWith: try self.count(db, atMost: 1) == 0
        case .devices, .devicesWith, .user: false
        }
    }

    /// The number of the branch's rows, counted up to a limit.
    func count(_ db: Database, atMost limit: Int) throws -> Int {
        guard let (rows, _) = self.source else { return 0 }
        return try db.first("select count(*) from (select 1 from \(rows) limit \(limit))") { Int($0.integer(0)) } ?? 0
    }

    /// The last row of the page after `start`; `nil` if fewer rows than a page are left.
    func end(_ db: Database, from start: Int64, page: Int) throws -> Int64? {
        guard let (rows, column) = self.source else { return nil }
        return try db.first(
            "select \(column) from \(rows) and \(column) > \(start) order by \(column) limit 1 offset \(page - 1)"
        ) { $0.integer(0) }
    }

    /// The rows of a branch that an index lists, and the column that orders them.
    private var source: (rows: SQL, column: SQL)? {
        switch self {
        case .devices: ("device where true", "number")
        case .devicesWith(let tag): ("device_tag where tag = \(tag)", "device")
        case .usersWith(let tag): ("user_tag where tag = \(tag)", "user_id")
        case .user, .nothing: nil
        }
    }
}
