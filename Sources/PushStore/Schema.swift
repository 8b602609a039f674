internal import GRDB
internal import Migrations

/// Brings a database to the newest schema.
enum Schema {
    static func prepare(_ db: Database) throws {
        try db.execute(
            sql: "create table if not exists migration (name text primary key, applied_at integer not null) strict"
        )
        let applied = try Set(String.fetchAll(db, sql: "select name from migration"))
        if let unknown = applied.subtracting(Migration.all.map(\.name)).sorted().last {
            throw StoreError.tooNew(migration: unknown)
        }
        for migration in Migration.all where !applied.contains(migration.name) {
            try db.inTransaction(.immediate) {
                try db.execute(sql: migration.sql)
                try db.execute(
                    sql: "insert into migration (name, applied_at) values (?, unixepoch())",
                    arguments: [migration.name]
                )
                return .commit
            }
        }
    }
}
