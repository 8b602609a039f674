internal import CSQLite
internal import SQLite
internal import Synchronization

/// The number of pages in the write-ahead log, which SQLite reports after each commit that has
/// written something.
///
/// To count such commits, SQLite's counter of changed rows is not used, since it has only 32 bits.
final class LogLength: Sendable {
    private let count = Atomic(0)
    private let commitCount = Atomic(0)

    var pages: Int { self.count.load(ordering: .relaxed) }

    /// The number of commits that have written something. A commit without a change does not
    /// count. The number rises before the writer answers its callers, so a reader that compares
    /// it sees what they have written.
    var commits: Int { self.commitCount.load(ordering: .acquiring) }

    /// Makes the connection report each commit to this object, which must outlive the connection.
    func watch(_ db: Database) throws {
        sqlite3_wal_hook(
            db.handle,
            { context, _, _, pages in
                if let context {
                    // The pointer is valid: `Writer` keeps this object and the connection, and
                    // closes the connection first.
                    let log = Unmanaged<LogLength>.fromOpaque(context).takeUnretainedValue()
                    log.count.store(Int(pages), ordering: .relaxed)
                    log.commitCount.wrappingAdd(1, ordering: .releasing)
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    /// Sets the number of pages to zero, because the log was restarted.
    func reset() { self.count.store(0, ordering: .relaxed) }
}
