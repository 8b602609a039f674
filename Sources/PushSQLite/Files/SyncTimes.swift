internal import CSQLite
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

/// The durations of SQLite's calls of `fdatasync`, for the log and for the database's file.
///
/// SQLite has no hook for syncs. So each open file gets a copy of its method table, and the copy's
/// `xSync` measures the time of the original function.
final class SyncTimes: Sendable {
    private let times = Mutex(StoreReport.Syncs())

    var all: StoreReport.Syncs { self.times.withLock { $0 } }

    /// Measures the connection's syncs until it is closed. The connection must already have opened
    /// its log: its first read opens the log.
    func watch(_ db: Database) {
        for file in [\StoreReport.Syncs.log, \.database] {
            // SQLite's file keeps this object until the file is closed, perhaps after the writer
            // has ended.
            let watch = Unmanaged.passRetained(Watch(self, file))
            let isWatched = csqlite_time_syncs(
                db.handle,
                file == \.log ? 1 : 0,
                { context, nanoseconds in
                    guard let context else { return }
                    let watch = Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue()
                    watch.times.times.withLock { $0[keyPath: watch.file].record(.nanoseconds(nanoseconds)) }
                },
                { context in
                    if let context { Unmanaged<Watch>.fromOpaque(context).release() }
                },
                watch.toOpaque()
            )
            if isWatched == 0 { watch.release() }
        }
    }

    /// The place for the durations of one file's syncs.
    private final class Watch {
        let times: SyncTimes
        let file: WritableKeyPath<StoreReport.Syncs, TimeHistogram>

        init(_ times: SyncTimes, _ file: WritableKeyPath<StoreReport.Syncs, TimeHistogram>) {
            (self.times, self.file) = (times, file)
        }
    }
}
