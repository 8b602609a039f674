internal import PostgreSQL
internal import PushPostgreSQL
internal import PushSQLite
package import PushStore
internal import Synchronization
package import Testing

/// A kind of store, for tests of what all kinds do.
package struct StoreKind: Sendable {
    /// All that the tests of the interface run against: another store is one more line.
    package static let all: [StoreKind] = [.sqlite, .postgreSQL]

    package static let sqlite = StoreKind(name: "SQLite") { SQLiteDatabase(path: $0.file("test.db")) }

    package static let postgreSQL = StoreKind(name: "PostgreSQL") {
        PostgreSQLPlace(try FolderDatabases.database(of: $0))
    }

    /// The kind that fixtures open, unless a test says otherwise.
    @TaskLocal package static var current = StoreKind.sqlite

    package let name: String
    /// Where a store of the kind lies that belongs to a folder.
    package let place: @Sendable (TemporaryFolder) throws -> any StorePlace
}

/// The databases of the tests' server that belong to folders: the same one each time that a fixture opens the folder's store.
private enum FolderDatabases {
    private struct State {
        /// With all tables, and empty; copying it takes less time than making them.
        var template: DatabaseAddress?
        var databases: [String: DatabaseAddress] = [:]
    }

    private static let state = Mutex(State())

    static func database(of folder: TemporaryFolder) throws -> DatabaseAddress {
        try self.state.withLock { state in
            if let database = state.databases[folder.path] { return database }
            let cluster = PostgreSQLCluster.shared
            var template = state.template
            if template == nil {
                let made = try cluster.newDatabase()
                try PostgreSQLPlace(made).migrate()
                template = made
                state.template = made
            }
            let database = try cluster.newDatabase(from: template)
            state.databases[folder.path] = database
            return database
        }
    }
}

extension Trait where Self == Repetition {
    /// Runs each test of a suite once with each kind of store; its fixtures open stores of that kind.
    package static var eachStore: Repetition {
        Repetition { run in
            for kind in StoreKind.all { try await StoreKind.$current.withValue(kind) { try await run() } }
        }
    }
}
