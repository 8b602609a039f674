internal import Foundation
internal import PushStore
internal import SQLite

/// The place to which the database was moved, and when.
struct MovedTo: Sendable {
    let place: String
    let at: Date

    init(place: String, at: Date) {
        self.place = place
        self.at = at
    }

    /// Reads the mark; `nil` if there is none, also in a database from before marks existed.
    init?(_ db: Database) throws {
        guard try db.tableExists("moved"), let row = try Row.fetchOne(db, sql: "select place, at from moved") else {
            return nil
        }
        self.init(place: try row[0], at: Date(milliseconds: try row[1]))
    }

    func write(_ db: Database) throws {
        try db.execute(
            sql: "insert or replace into moved (id, at, place) values (1, ?, ?)",
            arguments: [self.at.milliseconds, self.place]
        )
    }
}
