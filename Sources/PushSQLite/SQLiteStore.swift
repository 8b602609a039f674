internal import CSQLite
package import Foundation
internal import Glibc
package import PushCore
package import PushStore
internal import SQLite
internal import Synchronization

/// A store in one file on this machine. A single connection writes, and read-only connections
/// serve all readers.
///
/// There must be only one writing connection. In every SQLite before 3.51.3, two connections that
/// write or checkpoint the same WAL database at the same instant can corrupt it.
package final class SQLiteStore: Store {
    let path: String
    let audit: AuditTrail
    let writer: Writer
    package let tokenUses = TokenUses()
    package let sealing: Sealing
    let changes: ChangeNumbers
    let pusher: Pusher
    let removals = RemovalClock()
    let lookBook: LookBook
    /// The number of replacements of the keyring that have begun.
    let exchanges = Atomic(0)

    /// Opens the database, and migrates its schema. Creates the database and its folder if they
    /// are missing.
    ///
    /// The keyring encrypts confidential values. If data was erased before a crash, its remains
    /// are wiped: in the log at once, and in the pages soon.
    package init(path: String, keyring: Keyring, _ options: StoreOptions = StoreOptions()) throws(StoreError) {
        self.path = path
        do {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            try FileManager.default.createDirectory(
                at: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw StoreError(opening: path, error)
        }
        let lock = try LockFile(forDatabase: path)
        guard lock.lastStamp != LockFile.restoring else {
            lock.leave(LockFile.restoring)
            throw .unusable(place: path, reason: "a restore was interrupted; run sealpost restore again")
        }
        let file = SQLiteDatabase(path: path)
        let isNew = !file.isMade()
        do {
            let wiper = try PageWiper(database: path, onEvent: options.onEvent)
            if let stamp = lock.lastStamp, stamp == wiper.stamp { wiper.recordAllPagesKnown() }
            let connection = try Self.connect(path, isReadOnly: false)
            (self.sealing, self.changes) = try connection.exclusively { db in
                try Schema.prepare(db)
                if !options.admitsMoved, let moved = try MovedTo.read(db) {
                    throw StoreError.moved(place: path, to: moved.place)
                }
                if try !FileSpace.rewrite(db, atMost: FileSpace.rewritten) { options.onEvent(.fileStaysLong) }
                return try db.inTransaction {
                    let now = options.now()
                    let opened = (try Sealing(db, keyring, now: now), try ChangeNumbers(db, now: now))
                    try EventTriggers(options.events).install(db, now: now)
                    return opened
                }
            }
            let notes = TransactionNotes()
            self.audit = AuditTrail(self.sealing, notes: notes)
            self.pusher = Pusher(
                sealing: self.sealing,
                changes: self.changes,
                tags: options.tags,
                notes: notes,
                isAway: { options.isAway($0, $1) },
                looks: options.looks,
                lookLifetime: options.lookLifetime.timeInterval
            )
            self.lookBook = options.lookBook
            self.writer = try Writer(connection, wiper: wiper, lock: lock, notes: notes, options)
            try self.writer.wipeAtStart()
        } catch {
            // The next start would take an empty file for a lost database. The lock keeps other
            // processes from making the database meanwhile.
            withExtendedLifetime(lock) { if isNew, file.isEmpty { unlink(path) } }
            throw StoreError(opening: path, error)
        }
    }

    package func makeReader() throws(StoreError) -> any StoreReader { try self.makeSQLiteReader() }

    func makeSQLiteReader() throws(StoreError) -> SQLiteReader {
        do {
            let connection = try Self.connect(self.path, isReadOnly: true)
            let reader = try SQLiteReader(connection, of: self)
            self.writer.willHold(reader)
            // SQLite opens its files at the first read. So the reader reads now, while descriptors
            // are free: later, clients may use up all descriptors.
            _ = try reader.read { try $0.exists("select 1 from account limit 1") }
            return reader
        } catch {
            throw StoreError(opening: self.path, error)
        }
    }

    package var cluster: (any Cluster)? { nil }

    package var failure: String? {
        self.writer.checkFiles()
        return self.writer.failure
    }

    package var refusal: String? {
        if self.isUnusable { return "the database's file is damaged" }
        return self.writer.state.withLock { $0.isLocked } ? "another program has locked the database's file" : nil
    }

    package var isFull: Bool { self.writer.condition.isFull }
    package var isUnusable: Bool { self.writer.condition.damage != nil }

    package var report: StoreReport {
        let (failures, space) = self.writer.state.withLock { ($0.checkpointFailures, $0.space) }
        var report = StoreReport()
        report.waiting = self.writer.waitingCount
        report.receiptsWaiting = self.writer.receipts.count
        report.receiptsDropped = self.writer.receipts.dropped
        report.setAside = self.writer.condition.setAside
        report.checkpointFailures = failures
        report.logBytes = self.writer.log.pages * Writer.pageSize
        report.file = space.map { .init(bytes: $0.pages * Writer.pageSize, freeBytes: $0.free * Writer.pageSize) }
        report.commits = self.writer.condition.commits
        report.syncs = self.writer.syncs.all
        return report
    }

    package func close() async { await self.writer.close() }

    /// The bytes of the database and of its log, each with a descriptive name. A search through
    /// them can show that they contain no value in clear. The database's file is read through the
    /// open descriptor: opening and closing another descriptor would drop SQLite's locks.
    package func bytesAtRest() throws -> [(name: String, bytes: Data)] {
        let log = URL(fileURLWithPath: self.path + "-wal")
        return [("The database", try self.writer.wiper.contents()), ("Its log", try Data(contentsOf: log))]
    }

    /// The maximum time in seconds that a connection waits for SQLite's locks.
    static let busyTimeout = 5
    /// The page cache of the writing connection, in KiB. In a test with a million notifications,
    /// 64 MiB saved a quarter of the time that SQLite's default of 2 MiB took.
    private static let writerCache = 65_536

    /// Turns off SQLite's counting of memory, once in this process. If the process has opened a
    /// database elsewhere before, SQLite refuses this, and continues to count.
    private static let countNoMemory: Void = { _ = csqlite_count_no_memory() }()

    /// Opens a connection with the settings that all connections of a server need.
    static func connect(_ path: String, isReadOnly: Bool) throws -> Connection {
        Self.countNoMemory
        return try Connection(path: path, isReadOnly: isReadOnly, busyTimeout: .seconds(Self.busyTimeout)) { db in
            try SchemaComparison.distrustSchema(db)
            // Only the writer checkpoints, after its commits.
            try db.execute(sql: "pragma wal_autocheckpoint = 0")
            if isReadOnly { return }
            // `choose` must come before the journal mode is set, since `journal_mode` writes the
            // first page.
            try FileSpace.choose(db)
            // With NORMAL instead of FULL, a power failure could lose acknowledged commits.
            try db.execute(sql: "pragma journal_mode = wal")
            try db.execute(sql: "pragma synchronous = full")
            try db.execute(sql: "pragma secure_delete = on")
            // A post changes some pages at random places of large trees. Without this cache, each
            // post would read such pages again.
            try db.execute(sql: "pragma cache_size = \(-Self.writerCache)")
            // The statement journal serves to roll one caller's work back, and is never needed
            // after a crash. In a file, it would be created anew at each commit. So it is in
            // memory.
            try db.execute(sql: "pragma temp_store = memory")
        }
    }
}
