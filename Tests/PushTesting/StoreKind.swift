internal import PushSQLite
package import PushStore
package import Testing

/// A kind of store, for tests of what all kinds do.
package struct StoreKind: Sendable {
    /// All that the tests of the interface run against: another store is one more line.
    package static let all: [StoreKind] = [.sqlite]

    package static let sqlite = StoreKind(name: "SQLite") { SQLiteDatabase(path: $0.file("test.db")) }

    /// The kind that fixtures open, unless a test says otherwise.
    @TaskLocal package static var current = StoreKind.sqlite

    package let name: String
    /// Where a store of the kind lies that belongs to a folder.
    package let place: @Sendable (TemporaryFolder) -> any StorePlace
}

extension Trait where Self == Repetition {
    /// Runs each test of a suite once with each kind of store; its fixtures open stores of that kind.
    package static var eachStore: Repetition {
        Repetition { run in
            for kind in StoreKind.all { try await StoreKind.$current.withValue(kind) { try await run() } }
        }
    }
}
