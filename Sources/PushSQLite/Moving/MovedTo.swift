internal import Foundation
internal import PushStore
internal import SQLite

/// The place to which the database was moved, and when.
struct MovedTo: Sendable {
    let place: String
    let at: Date

    init(place: String, at: Date) {
        (self.place, self.at) = (place, at)
    }

    /// Reads the mark that the database was moved; `nil` without a mark, as in a database of a
    /// version that made none.
    init?(_ db: Database) throws {
        let table = "select 1 from sqlite_schema where type = 'table' and name = 'moved'"
        guard try db.first(prepared: table, decode: { _ in true }) == true else { return nil }
        let moved = try db.first("select place, at from moved") {
            MovedTo(place: $0.text(0), at: Date(milliseconds: $0.integer(1)))
        }
        guard let moved else { return nil }
        self = moved
    }

    func write(_ db: Database) throws {
        try db.run("insert or replace into moved (id, at, place) values (1, \(self.at.milliseconds), \(self.place))")
    }
}
