internal import Migrations
internal import PushStore
internal import SQLite

/// Migrates a database to the newest schema.
enum Schema {
    /// Runs the missing migrations, each in its own transaction.
    ///
    /// Throws `StoreError` if the database has a migration that this program does not know, or
    /// whose text has changed. Also throws if somebody has changed the schema.
    static func prepare(_ db: Database, _ migrations: [Migration] = Migration.all) throws {
        let applied = try Self.applied(db)
        if let unknown = applied.unknown(migrations) { throw StoreError.tooNew(migration: unknown) }
        if let changed = applied.changed(migrations) { throw StoreError.changedMigration(changed) }
        // The comparison comes before any statement that could run a trigger which somebody else
        // has added.
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

    /// The migrations that this database already has.
    static func applied(_ db: Database) throws -> AppliedMigrations {
        let columns = try db.all("select name from pragma_table_info('migration')") { try $0.text() }
        if columns.isEmpty { return AppliedMigrations(hashes: [:]) }
        // A table without hashes comes from a version that stored none. The SQL of its migrations
        // is unknown, so they count as changed.
        let hash = columns.contains("hash") ? "hash" : "x''"
        let rows = try db.all("select name, \(sql: hash) as hash from migration") {
            try ($0.text("name"), $0.data("hash"))
        }
        return AppliedMigrations(hashes: Dictionary(rows) { first, _ in first })
    }

    private static func run(_ migration: Migration, on db: Database) throws {
        // A migration that rebuilds a table also drops the old table. With foreign keys on, this
        // would delete the rows that refer to the table. The pragma has no effect within a
        // transaction.
        try db.execute(sql: "pragma foreign_keys = off")
        let result = Result {
            try db.inTransaction {
                try db.execute(sql: migration.sql)
                let orphan = try db.first("pragma foreign_key_check") {
                    try "\($0.text("table")) that belongs to none of \($0.text("parent"))"
                }
                if let orphan {
                    throw StoreError.failed(reason: "the migration \(migration.name) leaves a row of \(orphan)")
                }
                try db.run(
                    """
                    insert into migration (name, applied_at, hash)
                    values (\(migration.name), unixepoch(), \(migration.hash))
                    """
                )
            }
        }
        try db.execute(sql: "pragma foreign_keys = on")
        try result.get()
    }
}
