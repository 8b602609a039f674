internal import CSQLite
internal import SQLite
internal import Synchronization

/// The number of pages in the write-ahead log, as SQLite reports it after each commit.
///
/// Counts of changed rows would not suffice: SQLite keeps them in 32 bits.
final class LogLength: Sendable {
    private let count = Atomic(0)
    private let commitCount = Atomic(0)

    var pages: Int { self.count.load(ordering: .relaxed) }

    /// The number of commits that have written anything; transactions without a change do not
    /// count.
    var commits: Int { self.commitCount.load(ordering: .relaxed) }

    /// Makes the connection report after each commit. The connection must not outlive this object.
    func watch(_ db: Database) throws {
        sqlite3_wal_hook(
            db.handle,
            { context, _, _, pages in
                if let context {
                    // `Writer` keeps the connection and this object, and closes the connection
                    // before it releases them.
                    let log = Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue()
                    log.count.store(Int(pages), ordering: .relaxed)
                    log.commitCount.wrappingAdd(1, ordering: .relaxed)
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Sets the length to zero, since the log has restarted.
    func reset() {
        self.count.store(0, ordering: .relaxed)
    }
}
