internal import CSQLite
package import Foundation
package import PushCore
package import PushStore
internal import SQLite
internal import Synchronization

/// A store in one file of this machine: one connection that writes, and read-only ones for all
/// readers.
///
/// There is exactly one writing connection. In every SQLite before 3.51.3, two connections that
/// write or checkpoint one WAL database at the same instant can corrupt it.
package final class SQLiteStore: Store {
    let path: String
    let audit: AuditTrail
    let writer: Writer
    let tokenUses = TokenUses()
    package let sealing: Sealing
    let changes: ChangeNumbers
    let pusher: Pusher
    let removals = RemovalClock()
    let lookBook: LookBook
    /// How many replacements of the keyring have begun.
    let exchanges = Atomic(0)

    /// Opens the database, creates it and its folder if needed, and migrates its schema.
    ///
    /// The keyring encrypts confidential values. Data that was erased before a crash is wiped from
    /// the log, too, and soon from the pages.
    package init(
        path: String,
        keyring: Keyring,
        _ options: StoreOptions = StoreOptions()
    ) throws(StoreError) {
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
            throw .cannotOpen(place: path, reason: "a restore was interrupted; run sealpost restore again")
        }
        do {
            let wiper = try PageWiper(database: path, onEvent: options.onEvent)
            if let stamp = lock.lastStamp, stamp == wiper.stamp { wiper.recordAllPagesKnown() }
            let connection = try Self.connect(path, isReadOnly: false)
            (self.sealing, self.changes) = try connection.exclusively { db in
                try Schema.prepare(db)
                if !options.admitsMoved, let moved = try MovedTo(db) {
                    throw StoreError.moved(place: path, to: moved.place)
                }
                if try !FileSpace.rewrite(db, atMost: FileSpace.rewritten) { options.onEvent(.fileStaysLong) }
                return try db.inTransaction(.immediate) {
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
                looks: options.looks.mapValues(LookPlan.init)
            )
            self.lookBook = options.lookBook
            self.writer = try Writer(
                connection,
                wiper: wiper,
                lock: lock,
                condition: StoreCondition(onEvent: options.onEvent),
                notes: notes,
                timeout: options.writeTimeout,
                spans: options.spans,
                events: options.onEvent
            )
            try self.writer.wipeAtStart()
        } catch {
            throw StoreError(opening: path, error)
        }
    }

    /// Opens a read-only connection, for one thread at a time: each event loop has its own.
    package func makeReader() throws(StoreError) -> any StoreReader {
        try self.makeSQLiteReader()
    }

    func makeSQLiteReader() throws(StoreError) -> SQLiteReader {
        do {
            let connection = try Self.connect(self.path, isReadOnly: true)
            let reader = SQLiteReader(connection, of: self)
            self.writer.willHold(reader)
            // SQLite opens its files with the first read. Read now, while descriptors are free;
            // later, clients may use them all.
            _ = try reader.read { try $0.exists("select 1 from user limit 1") }
            return reader
        } catch {
            throw StoreError(opening: self.path, error)
        }
    }

    package var isShared: Bool { false }

    package var lease: CredentialLease? { nil }

    package var limits: (any LimitStore)? { nil }

    package var vault: Vault { self.sealing.vault }

    package var indexSecret: IndexSecret { self.sealing.secret }

    package var failure: String? { self.writer.failure }

    package var isFull: Bool { self.writer.condition.isFull }

    package func sharing() -> SharingReport? { nil }

    package func servers(limit: Int) -> [ServerEntry] { [] }

    package var report: StoreReport {
        StoreReport(
            waiting: self.writer.waitingCount,
            receiptsWaiting: self.writer.receipts.count,
            receiptsDropped: self.writer.receipts.dropped,
            setAside: self.writer.condition.setAside,
            checkpointFailures: self.writer.counts.checkpointFailures.load(ordering: .relaxed),
            logBytes: self.writer.log.pages * Writer.pageSize,
            file: self.writer.counts.file,
            commits: self.writer.condition.commits,
            syncs: self.writer.syncs.all
        )
    }

    /// Finishes the submitted work, leaves a database that needs no recovery, and releases its
    /// lock.
    package func close() async {
        await self.writer.close()
    }

    /// Wipes erased data at once, and not within a second as usual; `false` if a reader prevents
    /// it.
    package func wipe() async throws -> Bool {
        try await self.writer.wipeNow()
    }

    /// The bytes of the database and of its log. Opening and closing the database's file in
    /// another way would drop SQLite's locks on it.
    package func bytesAtRest() throws -> [(name: String, bytes: Data)] {
        let log = URL(fileURLWithPath: self.path + "-wal")
        return [("The database", try self.writer.wiper.contents()), ("Its log", try Data(contentsOf: log))]
    }

    /// How long a connection waits for SQLite's locks, in seconds.
    static let busyTimeout = 5
    /// The page cache of the writing connection, in KiB. In a test with a million notifications,
    /// 64 MiB saved a quarter of the time that the usual 2 MiB took.
    private static let writerCache = 65_536

    /// Turns off SQLite's counts of memory, once for the process. If the process has opened a
    /// database elsewhere before, SQLite refuses that and goes on counting.
    private static let countNoMemory: Void = { _ = csqlite_count_no_memory() }()

    /// Opens a connection with the settings that all connections of a server have.
    static func connect(_ path: String, isReadOnly: Bool) throws -> Connection {
        Self.countNoMemory
        return try Connection(path: path, isReadOnly: isReadOnly, busyTimeout: .seconds(Self.busyTimeout)) { db in
            try SchemaComparison.distrustSchema(db)
            // Only the writer checkpoints, after its commits; no other connection does.
            try db.execute(sql: "pragma wal_autocheckpoint = 0")
            if isReadOnly { return }
            // This must come before the journal mode is set, which writes the first page.
            try FileSpace.choose(db)
            // FULL: with NORMAL a power cut can lose commits that were acknowledged.
            try db.execute(sql: "pragma journal_mode = wal")
            try db.execute(sql: "pragma synchronous = full")
            try db.execute(sql: "pragma secure_delete = on")
            // A post changes some random pages of large trees: without the cache, each post would
            // read them again.
            try db.execute(sql: "pragma cache_size = \(-Self.writerCache)")
            // The statement journal, which rolls back one caller's work, is never needed after a
            // crash. It is kept in memory, since each commit would create a file for it.
            try db.execute(sql: "pragma temp_store = memory")
        }
    }
}
