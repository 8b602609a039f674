internal import Foundation
internal import PostgreSQL
internal import PushStore

/// The row of the table `move`. It says which database was moved into this database, and whether
/// the move is complete.
struct MoveMark {
    /// Identifies the database that the data comes from.
    let source: Data
    let isFinished: Bool

    /// Reads the row of `move`. `nil` if the database has no such row, or no tables yet.
    init?(_ connection: BlockingConnection) throws {
        let isThere = try connection.query("select to_regclass('move') is not null")
        guard try isThere[0].boolean(0) else { return nil }
        guard let row = try connection.query("select source, finished_at from move where id = 1").first else {
            return nil
        }
        self.source = try row.data(0)
        self.isFinished = !row.isNull(1)
    }

    /// Throws `StoreError` if a move into this database has not finished. The caller must first
    /// have called `Schema.holdMigrations`, so that no move begins before the transaction ends.
    static func refuseUnfinished(_ connection: BlockingConnection, _ address: DatabaseAddress) throws {
        guard let mark = try MoveMark(connection), !mark.isFinished else { return }
        throw StoreError.cannotOpen(
            place: address.description,
            reason: "a move into it was interrupted; run sealpost move again, or create a new database"
        )
    }

    /// Marks the database as the target of a move that has begun.
    static let begin = "insert into move (id, source, begun_at) values (1, $1, $2)"

    /// Marks the move as finished.
    static let finish = "update move set finished_at = $1 where id = 1"
}
