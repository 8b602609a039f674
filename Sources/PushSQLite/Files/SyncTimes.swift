internal import CSQLite
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

/// How long SQLite's calls of `fdatasync` took, for the log and for the database's file.
///
/// SQLite has no hook for syncs. So the open files get copies of their method tables, whose
/// `xSync` times the original one.
final class SyncTimes: Sendable {
    private let times = Mutex(StoreReport.Syncs())

    var all: StoreReport.Syncs { self.times.withLock { $0 } }

    /// Times the connection's syncs until it is closed. The connection's log must be open: a read
    /// opens it.
    func watch(_ db: Database) {
        for file in [\StoreReport.Syncs.log, \.database] {
            // The file keeps the object until it is closed, which may be after the writer's end.
            let watch = Unmanaged.passRetained(Watch(self, file))
            let isWatched = csqlite_time_syncs(
                db.handle,
                file == \.log ? 1 : 0,
                { context, nanoseconds in
                    guard let context else { return }
                    Unmanaged<Watch>.fromOpaque(context).takeUnretainedValue().record(.nanoseconds(nanoseconds))
                },
                { context in
                    if let context { Unmanaged<Watch>.fromOpaque(context).release() }
                },
                watch.toOpaque()
            )
            if isWatched == 0 { watch.release() }
        }
    }

    /// The syncs of one file.
    private final class Watch {
        private let times: SyncTimes
        private let file: WritableKeyPath<StoreReport.Syncs, TimeHistogram>

        init(_ times: SyncTimes, _ file: WritableKeyPath<StoreReport.Syncs, TimeHistogram>) {
            (self.times, self.file) = (times, file)
        }

        func record(_ time: Duration) {
            self.times.times.withLock { $0[keyPath: self.file].record(time) }
        }
    }
}
