internal import Foundation
package import PushCore
internal import PushStore
internal import SQLite

extension SQLiteDatabase {
    /// Keeps the database open as the source of a move while `body` runs.
    ///
    /// First migrates the schema. Throws `StoreError` if the file does not exist, if another
    /// process has it open, or if it cannot be opened with the keyring. Rethrows the errors of
    /// `body`.
    package func asMoveSource<Value>(
        _ keyring: Keyring,
        _ body: (SQLiteMoveSource) async throws -> Value
    ) async throws -> Value {
        guard self.exists else { throw StoreError.cannotOpen(place: self.path, reason: "the file does not exist") }
        var options = StoreOptions()
        options.admitsMoved = true
        let store = try SQLiteStore(path: self.path, keyring: keyring, options)
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(SQLiteMoveSource(store)))
        } catch {
            result = .failure(error)
        }
        await store.close()
        return try result.get()
    }
}

/// The new place of a moved database, and the time of the move.
struct MovedTo: Sendable {
    let place: String
    let at: Date

    /// Reads the row that marks the database as moved. `nil` if there is no such row, or no table
    /// for it, as in a database of an older version.
    static func read(_ db: Database) throws -> MovedTo? {
        let table = "select 1 from sqlite_schema where type = 'table' and name = 'moved'"
        guard try db.exists(SQL(sql: table)) else { return nil }
        return try db.first("select place, at from moved") {
            try MovedTo(place: $0.text("place"), at: $0.date("at"))
        }
    }
}
