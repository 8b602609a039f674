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
        let count: Int64? =
            switch self {
            case .devices:
                try db.first(prepared: "select count(*) from (select 1 from device limit ?)", limit) { $0.integer(0) }
            case .devicesWith(let tag):
                try db.first(
                    prepared: "select count(*) from (select 1 from device_tag where tag = ? limit ?)",
                    tag,
                    limit
                ) { $0.integer(0) }
            case .usersWith(let tag):
                try db.first(
                    prepared: "select count(*) from (select 1 from user_tag where tag = ? limit ?)",
                    tag,
                    limit
                ) { $0.integer(0) }
            case .user, .nothing: 0
            }
        return Int(count ?? 0)
    }

    /// The last row of the page after `start`; `nil` if fewer rows than a page are left.
    func end(_ db: Database, from start: Int64, page: Int) throws -> Int64? {
        switch self {
        case .devices:
            try db.first(
                prepared: "select number from device where number > ? order by number limit 1 offset ?",
                start,
                page - 1
            ) { $0.integer(0) }
        case .devicesWith(let tag):
            try db.first(
                prepared: "select device from device_tag where tag = ? and device > ? order by device limit 1 offset ?",
                tag,
                start,
                page - 1
            ) { $0.integer(0) }
        case .usersWith(let tag):
            try db.first(
                prepared: """
                    select user_id from user_tag where tag = ? and user_id > ? order by user_id limit 1 offset ?
                    """,
                tag,
                start,
                page - 1
            ) { $0.integer(0) }
        case .user, .nothing: nil
        }
    }
}
