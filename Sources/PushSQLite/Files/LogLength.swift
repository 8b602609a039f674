internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// How many pages the write-ahead log has, as SQLite says after each commit.
///
/// Counts of changed rows would not do: SQLite keeps them in 32 bits.
final class LogLength: Sendable {
    private let count = Atomic(0)

    var pages: Int { self.count.load(ordering: .relaxed) }

    /// Has the connection tell after each commit. It must not outlive this.
    func watch(_ db: Database) throws {
        sqlite3_wal_hook(
            db.sqliteConnection,
            { context, _, _, pages in
                if let context {
                    // `Writer` keeps both, and closes the connection before it goes.
                    Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue()
                        .count.store(Int(pages), ordering: .relaxed)
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// The log begins anew.
    func reset() {
        self.count.store(0, ordering: .relaxed)
    }
}
