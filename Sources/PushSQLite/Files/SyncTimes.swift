internal import CSQLite
internal import GRDB
internal import PushCore
internal import PushStore
internal import Synchronization

/// How long each `fdatasync` took that SQLite made of the log and of the database's file.
///
/// SQLite has no hook for it, so the open files' methods are replaced by copies with another `xSync`, which calls the first one.
final class SyncTimes: Sendable {
    private let times = Mutex(StoreReport.Syncs())

    var all: StoreReport.Syncs { self.times.withLock { $0 } }

    /// Times the connection's syncs until it is closed. Its log must be open: what has read once has opened it.
    func watch(_ db: Database) {
        for file in [\StoreReport.Syncs.log, \.database] {
            // The file keeps it until it is closed, which may be after the writer has gone.
            let watch = Unmanaged.passRetained(Watch(self, file))
            let isWatched = csqlite_time_syncs(
                db.sqliteConnection,
                file == \.log ? 1 : 0,
                { context, nanoseconds in
                    guard let context else { return }
                    Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue().note(.nanoseconds(nanoseconds))
                },
                { context in
                    if let context { Unmanaged<Watch>.fromOpaque(context).release() }
                },
                watch.toOpaque()
            )
            if isWatched == 0 { watch.release() }
        }
    }

    /// One file.
    private final class Watch {
        private let times: SyncTimes
        private let file: WritableKeyPath<StoreReport.Syncs, TimeHistogram>

        init(_ times: SyncTimes, _ file: WritableKeyPath<StoreReport.Syncs, TimeHistogram>) {
            self.times = times
            self.file = file
        }

        func note(_ time: Duration) {
            self.times.times.withLock { $0[keyPath: self.file].note(time) }
        }
    }
}
