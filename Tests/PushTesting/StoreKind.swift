internal import Foundation
package import PostgreSQL
internal import PushPostgreSQL
internal import PushSQLite
package import PushStore
internal import Synchronization
package import Testing

/// A kind of store, for tests of the common interface.
package struct StoreKind: Sendable {
    /// The kinds with which the tests of the interface run. To test another store, add it here.
    package static let all: [StoreKind] = [.sqlite, .postgreSQL]

    package static let sqlite = StoreKind(name: "SQLite") { folder in
        let database = SQLiteDatabase(path: folder.file("test.db"))
        if !database.exists { try newFile.get().write(to: URL(fileURLWithPath: database.path)) }
        return database
    }

    /// An SQLite file with all tables and no rows. A copy of this file takes less time than making
    /// the tables.
    private static let newFile = Result {
        let folder = try TemporaryFolder()
        let database = SQLiteDatabase(path: folder.file("test.db"))
        try database.migrate()
        return try Data(contentsOf: URL(fileURLWithPath: database.path))
    }

    package static let postgreSQL = StoreKind(name: "PostgreSQL") {
        PostgreSQLPlace(try FolderDatabases.database(of: $0), pool: .longTimeouts)
    }

    /// The kind of store that fixtures open, unless a test chooses another.
    @TaskLocal package static var current = StoreKind.sqlite

    package let name: String
    /// Returns the `StorePlace` of the store of this kind in a folder.
    package let place: @Sendable (TemporaryFolder) throws -> any StorePlace
}

/// For each test folder, its database in the tests' PostgreSQL cluster. All fixtures that use the
/// same folder open the same database.
package enum FolderDatabases {
    private struct State {
        /// A database with all tables and no rows. A copy of this database takes less time than
        /// making the tables.
        var template: DatabaseAddress?
        var databases: [String: DatabaseAddress] = [:]
        /// The folders whose databases are copies of the template.
        var copies: Set<String> = []
    }

    private static let state = Mutex(State())

    /// Makes the folder's store use this database, which may be in any cluster.
    package static func use(_ database: DatabaseAddress, for folder: TemporaryFolder) {
        self.state.withLock { $0.databases[folder.path] = database }
    }

    package static func database(of folder: TemporaryFolder) throws -> DatabaseAddress {
        try self.state.withLock { state in
            if let database = state.databases[folder.path] { return database }
            let cluster = PostgreSQLCluster.shared
            var template = state.template
            if template == nil {
                let made = try cluster.newDatabase()
                try PostgreSQLPlace(made, pool: .longTimeouts).migrate()
                // The first connection after a schema change computes catalog data and stores it.
                // Without this connection, the first connection to each copy would have to compute
                // it.
                _ = try BlockingConnection(made)
                template = made
                state.template = made
            }
            try self.dropUnused(&state)
            let database = try cluster.newDatabase(from: template)
            state.databases[folder.path] = database
            state.copies.insert(folder.path)
            return database
        }
    }

    /// Deletes the databases of deleted folders. A database takes 9 MB, usually in memory: without
    /// the deletions, a run of all tests would take 8 GB.
    private static func dropUnused(_ state: inout State) throws {
        for path in state.copies where !FileManager.default.fileExists(atPath: path) {
            guard let database = state.databases[path], try PostgreSQLCluster.shared.dropIfUnused(database) else {
                continue
            }
            state.databases[path] = nil
            state.copies.remove(path)
        }
    }
}

extension Trait where Self == Repetition {
    /// Runs each test of a suite once with each kind of store. The test's fixtures open stores of
    /// that kind.
    package static var eachStore: Repetition {
        Repetition { run in
            for kind in StoreKind.all { try await StoreKind.$current.withValue(kind) { try await run() } }
        }
    }
}

extension StoreFixture {
    /// Connects to the database of a PostgreSQL store, separately from the store.
    package func connect() throws -> BlockingConnection {
        try BlockingConnection(FolderDatabases.database(of: self.folder))
    }

    /// Extends the leases of all servers of a PostgreSQL store, which must not end however slow
    /// the machine is. The servers' own renewals do not shorten them.
    package func extendLeases() throws {
        try self.connect().execute(
            """
            create function keep_lease() returns trigger language plpgsql as
            'begin new.until := greatest(new.until, old.until); return new; end';
            create trigger keep_lease before update on node for each row execute function keep_lease();
            update node set until = until + 600000
            """
        )
    }

    /// Locks a table of a PostgreSQL store against all other connections, until the lock is
    /// released.
    package func lock(_ table: String) throws -> TableLock {
        try TableLock(table, of: FolderDatabases.database(of: self.folder))
    }
}

/// A lock on a table by another database connection, to simulate a slow session.
package final class TableLock: Sendable {
    private let address: DatabaseAddress
    private let table: String
    private let connection: Mutex<BlockingConnection?>

    fileprivate init(_ table: String, of address: DatabaseAddress) throws {
        let connection = try BlockingConnection(address)
        try connection.execute("begin; lock table \(table) in access exclusive mode")
        self.address = address
        self.table = table
        self.connection = Mutex(connection)
    }

    /// Returns whether a connection waits for the lock on the table.
    package func isAwaited() throws -> Bool {
        try BlockingConnection(self.address).query(
            "select 1::int8 from pg_locks where relation = to_regclass($1) and not granted",
            self.table
        ).count > 0
    }

    package func release() throws {
        try self.connection.withLock { try $0.take()?.execute("rollback") }
    }
}
