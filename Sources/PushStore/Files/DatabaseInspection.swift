internal import GRDB
internal import Migrations

/// What a look at a database tells, read-only and beside a server that runs.
package struct DatabaseInspection: Sendable, Hashable {
    /// What SQLite finds wrong with the file, line by line; empty if nothing is.
    package let damage: [String]
    /// Migrations that this program would make at the next start.
    package let missingMigrations: [String]
    /// The last migration that this program does not know: the file is of a newer one.
    package let unknownMigration: String?
    /// The first migration that is another one in this program than the file has had.
    package let changedMigration: String?

    /// Reads the whole file, which takes its time.
    ///
    /// Throws `StoreError` if it cannot be opened or read as a database.
    package init(path: String) throws(StoreError) {
        do {
            let (damage, applied) = try DatabaseQueue.readOnly(path: path).read { db in
                let damage = try String.fetchAll(db, sql: "pragma quick_check(10)").filter { $0 != "ok" }
                return (damage, try Schema.applied(db))
            }
            self.damage = damage
            self.missingMigrations = applied.missing(Migration.all)
            self.unknownMigration = applied.unknown(Migration.all)
            self.changedMigration = applied.changed(Migration.all)
        } catch {
            throw StoreError(opening: path, error)
        }
    }
}

extension DatabaseQueue {
    /// A connection that changes nothing, beside a server that runs.
    static func readOnly(path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}
