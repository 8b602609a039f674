internal import Foundation
internal import PostgreSQL
internal import PushStore

/// The row of the table `move`: which database was moved here, and whether the move is complete.
struct MoveMark {
    /// Identifies the database that was moved here.
    let source: Data
    let isFinished: Bool

    /// Reads the row; `nil` if it does not exist, also in a database without tables.
    init?(_ connection: BlockingConnection) throws {
        guard try connection.has("move"),
            let row = try connection.query("select source, finished_at from move where id = 1").first
        else { return nil }
        self.source = try row.data(0)
        self.isFinished = !row.isNull(1)
    }

    /// Throws `StoreError` if a move has not finished. The caller must have called
    /// `Schema.holdMigrations`: until the transaction ends, no move begins.
    static func refuseUnfinished(_ connection: BlockingConnection, _ address: DatabaseAddress) throws {
        guard let mark = try MoveMark(connection), !mark.isFinished else { return }
        throw StoreError.cannotOpen(
            place: address.description,
            reason: "a move into it was interrupted; run sealpost move again, or create a new database"
        )
    }

    /// Marks the database as the target of a move that begins.
    static let begin = "insert into move (id, source, begun_at) values (1, $1, $2)"

    /// Marks the move as finished.
    static let finish = "update move set finished_at = $1 where id = 1"
}
