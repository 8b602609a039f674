internal import Foundation
internal import PushStore
internal import SQLite

/// The mark of a database that was moved: the other database, and the time of the move.
struct MovedTo: Sendable {
    let place: String
    let at: Date

    init(place: String, at: Date) {
        (self.place, self.at) = (place, at)
    }

    /// Reads the mark. `nil` if there is no mark, or no table for it, as in a database of an older
    /// version.
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
