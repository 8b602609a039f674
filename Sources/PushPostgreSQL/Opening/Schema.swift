internal import Foundation
internal import Migrations
internal import PostgreSQL
internal import PushStore

/// Migrates a database to the newest schema.
enum Schema {
    /// The oldest version of PostgreSQL that supports the store's SQL, in the form of
    /// `server_version_num`.
    private static let oldestServer: Int64 = 140_000
    /// Locks a row until the transaction ends. Starts, migrations and changes of keys all lock
    /// this row, so only one of them runs at a time.
    static let schemaLock = "select id from schema_state where id = 1 for update"
    /// The maximum number of attempts to lock a table that another session uses, such as that of
    /// `pg_dump`.
    private static let attempts = 30
    /// The maximum time that a statement of a migration waits for a table. It is shorter than the
    /// lock timeout of a server's statements: while the migration waits, all new users of the
    /// table wait behind it.
    private static let lockLimit = "500ms"
    /// The pause in seconds before a migration again tries to lock its table. Meanwhile, the
    /// sessions that have waited behind its first attempt continue.
    private static let pause: TimeInterval = 2

    /// Runs the missing migrations, each in its own transaction. If several servers start at the
    /// same time, they run one after the other.
    ///
    /// Throws `StoreError` in four cases. The database has a migration that this program must know
    /// but does not know, or one whose text has changed. A missing migration would break servers
    /// of an older version that are running. Other roles can change the schema. Or somebody has
    /// changed the schema.
    ///
    /// If no migration is missing, this function writes nothing, so that the role needs no right
    /// to create tables.
    static func prepare(_ connection: BlockingConnection, _ migrations: [Migration]) throws {
        try Self.checkServer(connection)
        try SchemaOwnership.check(connection)
        if try !Self.missing(connection, migrations).isEmpty {
            try SchemaOwnership.checkCreation(connection)
            try Self.createTables(connection)
            while let name = try Self.missing(connection, migrations).first {
                try Self.runWithRetries(name, of: migrations, on: connection)
            }
            try SchemaOwnership.check(connection)
        }
        try SchemaComparison.check(connection, migrations)
    }

    /// Creates the table of migrations, and the table whose row a migration locks.
    static let ownTables = """
        create table if not exists schema_state (id bigint primary key check (id = 1));
        create table if not exists migration (
            name text collate "C" primary key, applied_at bigint not null, hash bytea not null,
            oldest_known text collate "C" not null);
        """

    static func applied(_ connection: BlockingConnection) throws -> AppliedMigrations {
        guard try connection.has("migration") else { return AppliedMigrations(hashes: [:]) }
        var (hashes, oldestKnown): ([String: Data], [String: String]) = ([:], [:])
        for row in try connection.query("select name, hash, oldest_known from migration") {
            let name = try row.text("name")
            hashes[name] = try row.data("hash")
            oldestKnown[name] = try row.text("oldest_known")
        }
        return AppliedMigrations(hashes: hashes, oldestKnown: oldestKnown)
    }

    /// Throws `StoreError` if the database has meanwhile got a migration that this program must
    /// know but does not know. Until the transaction ends, no migration runs, no server joins and
    /// no server changes its keys. So each migration, join and change of keys sees the servers
    /// that joined before it.
    static func holdMigrations(_ connection: BlockingConnection, _ migrations: [Migration]) throws {
        // If this server is paused here, or its machine fails, the timeout releases the lock.
        try connection.execute("set local idle_in_transaction_session_timeout = '4s'")
        _ = try connection.query(Self.schemaLock)
        _ = try Self.missing(connection, migrations)
    }

    // MARK: - Private

    private static func checkServer(_ connection: BlockingConnection) throws {
        let version = try connection.query("select current_setting('server_version_num')::int8").first?.integer()
        guard let version, version >= Self.oldestServer else {
            throw StoreError.unusable(reason: "the server is older than PostgreSQL 14")
        }
        guard try connection.query("select current_setting('server_encoding')").first?.text() == "UTF8" else {
            throw StoreError.unusable(reason: "its encoding is not UTF8; create it with UTF8")
        }
    }

    /// The names of the missing migrations. Throws `StoreError` for a migration that is unknown or
    /// was changed.
    private static func missing(_ connection: BlockingConnection, _ migrations: [Migration]) throws -> [String] {
        let applied = try Self.applied(connection)
        if let unknown = applied.unknown(migrations) { throw StoreError.tooNew(migration: unknown) }
        if let changed = applied.changed(migrations) { throw StoreError.changedMigration(changed) }
        return applied.missing(migrations)
    }

    private static func createTables(_ connection: BlockingConnection) throws {
        do {
            try connection.execute(Self.ownTables)
        } catch DatabaseError.refused(let code, _) where ["23505", "42P07", "42710"].contains(code) {
            // `if not exists` does not see a table that another transaction is just creating, so
            // the statement can fail. After this failure, the other transaction's table exists.
        }
        _ = try connection.query("insert into schema_state (id) values (1) on conflict do nothing")
    }

    private static func runWithRetries(
        _ name: String,
        of migrations: [Migration],
        on connection: BlockingConnection
    ) throws {
        for _ in 0..<Self.attempts {
            do {
                return try Self.run(name, of: migrations, on: connection)
            } catch DatabaseError.refused(code: "55P03", _) {
                Thread.sleep(forTimeInterval: Self.pause)
            }
        }
        throw StoreError.failed(
            reason: """
                another session, such as a pg_dump, uses a table that migration \(name) changes; start again when it has ended
                """
        )
    }

    /// Runs a migration, unless another server has run it meanwhile.
    private static func run(_ name: String, of migrations: [Migration], on connection: BlockingConnection) throws {
        try connection.transaction {
            // Only servers that are starting or migrating wait for this lock.
            _ = try connection.query(Self.schemaLock)
            try connection.execute("set local lock_timeout = '\(Self.lockLimit)'")
            guard try Self.missing(connection, migrations).contains(name),
                let migration = migrations.first(where: { $0.name == name })
            else { return }
            try Self.refuseOlderServers(than: migration, connection)
            try connection.execute(migration.sql)
            _ = try connection.query(Self.record, migration.name, migration.hash, migration.oldestKnown)
        }
    }

    private static let record = """
        insert into migration (name, applied_at, hash, oldest_known)
        values ($1, \(DatabaseClock.now), $2, $3)
        """

    private static func refuseOlderServers(than migration: Migration, _ connection: BlockingConnection) throws {
        // Before the first migration, there is no table `node`, and so no server.
        guard try connection.has("node") else { return }
        let older = try connection.query(
            """
            select name, release from node
            where not is_fenced and until >= \(DatabaseClock.now) and schema < $1
            order by number
            """,
            migration.oldestKnown
        )
        let names = try older.map { "\(try $0.text("name")) (\(try $0.text("release")))" }
        if names.isEmpty { return }
        throw StoreError.olderServers(names.joined(separator: ", "), migration: migration.name)
    }
}

extension BlockingConnection {
    func has(_ table: String) throws -> Bool {
        try self.query("select to_regclass('\(table)') is not null").first?.flag() ?? false
    }
}

/// SQL for the clock of the database, which all servers share.
enum DatabaseClock {
    /// Milliseconds since 1970 at the moment of the call, rather than at the transaction's start.
    static let now = "(extract(epoch from clock_timestamp()) * 1000)::int8"
}
