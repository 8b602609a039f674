internal import Foundation
internal import Migrations
internal import PushCore
internal import PushStore
internal import SQLite

/// Migrates a database to the newest schema.
enum Schema {
    /// Runs the missing migrations, each in a transaction of its own.
    ///
    /// Throws `StoreError` if the database has a migration that is unknown or has changed since,
    /// or if somebody has changed the schema.
    static func prepare(_ db: Database, _ migrations: [Migration] = Migration.all) throws {
        let applied = try Self.applied(db)
        if let unknown = applied.unknown(migrations) { throw StoreError.tooNew(migration: unknown) }
        if let changed = applied.changed(migrations) { throw StoreError.changedMigration(changed) }
        // The check comes before the first statement that a foreign trigger could see.
        try SchemaComparison.check(db, migrations)
        try db.execute(
            sql: """
                create table if not exists migration (
                    name text primary key, applied_at integer not null, hash blob not null
                ) strict
                """
        )
        for migration in migrations where applied.hashes[migration.name] == nil { try Self.run(migration, on: db) }
    }

    /// The migrations that were applied to the database.
    static func applied(_ db: Database) throws -> AppliedMigrations {
        let columns = try String.fetchAll(db, sql: "select name from pragma_table_info('migration')")
        if columns.isEmpty { return AppliedMigrations(hashes: [:]) }
        // A table without hashes is from before hashes existed: the SQL of its migrations is
        // unknown, and counts as changed.
        let hash = columns.contains("hash") ? "hash" : "x''"
        let rows = try Row.fetchAll(db, sql: "select name, \(hash) from migration")
        return AppliedMigrations(
            hashes: Dictionary(try rows.map { (try $0[0] as String, try $0[1] as Data) }) { first, _ in first }
        )
    }

    private static func run(_ migration: Migration, on db: Database) throws {
        // A migration that rebuilds a table drops the old one, which would delete by cascade the
        // rows that belong to it. The pragma has no effect within a transaction.
        try db.execute(sql: "pragma foreign_keys = off")
        let result = Result {
            try db.inTransaction(.immediate) {
                try db.execute(sql: migration.sql)
                if let row = try Row.fetchOne(db, sql: "pragma foreign_key_check") {
                    let (table, parent): (String, String) = (try row[0], try row[2])
                    throw StoreError.failed(
                        reason:
                            "the migration \(migration.name) leaves a row of \(table) that belongs to none of \(parent)"
                    )
                }
                try db.execute(
                    sql: "insert into migration (name, applied_at, hash) values (?, unixepoch(), ?)",
                    arguments: [migration.name, migration.hash]
                )
            }
        }
        try db.execute(sql: "pragma foreign_keys = on")
        try result.get()
    }
}
