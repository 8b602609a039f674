import Foundation
import Migrations
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// When the server destroys the key of a day, nobody can decrypt that day's payloads any more,
/// whatever files of the server they have.
@Suite(.timeLimit(.minutes(5))) struct DayKeyStoreTests {
    private static let day: TimeInterval = 86_400
    /// A cluster for this suite alone, because the tests search the write-ahead log for old
    /// records. The cluster that other suites share recycles its log.
    private static let cluster = PostgreSQLCluster(keptLog: 1024)

    private let fixture: StoreFixture
    private let chain: MemoryDayChain
    private let address: DatabaseAddress
    private let alice: User

    /// The tests' clock begins ten days ago, because a key is destroyed only when its day has also
    /// passed by the database's clock. It begins at noon, so that the day stays the same when a
    /// test adds an hour or two.
    init() async throws {
        let folder = try TemporaryFolder()
        self.address = try Self.cluster.newDatabase()
        FolderDatabases.use(self.address, for: folder)
        let first = Day(of: Date() - 10 * Self.day).end - Self.day / 2
        self.chain = MemoryDayChain(DayChain(from: Day(of: first)), place: "first")
        var options = StoreOptions()
        options.cluster.dayChain = self.chain
        self.fixture = try StoreFixture(.postgreSQL, in: folder, options: options)
        self.fixture.clock.advance(by: first.timeIntervalSince(self.fixture.now))
        self.alice = try await self.fixture.addUser("alice")
    }

    private func reopened(_ chain: DayChain?, place: String = "second") throws -> any Store {
        var options = StoreOptions()
        options.cluster.dayChain = MemoryDayChain(chain, place: place)
        return try PostgreSQLPlace(self.address, pool: .longTimeouts).open(self.fixture.keyring, options)
    }

    private func id(_ number: Int64) throws -> NotificationID { try #require(NotificationID(rawValue: number)) }

    private func payload(_ number: Int64, in store: any Store) async throws -> String? {
        let found = try await store.makeReader().notification(
            try self.id(number),
            for: self.alice.id,
            alsoAsSender: false,
            now: self.fixture.now
        )
        return try found.map { found in
            let place = SealedPlace.payload(try self.id(number), sender: found.sender)
            return String(decoding: try store.vault.open(found.sealedPayload, in: place), as: UTF8.self)
        }
    }

    /// Returns the day keys that the first server's file contains now.
    private func present() throws -> DayChain { try #require(self.chain.current) }

    private func connection() throws -> BlockingConnection { try BlockingConnection(self.address) }

    /// Counts the copies of the payload in a server's files that a thief with the keyring and
    /// these day keys can decrypt. Returns the number for each kind of file.
    private func openCopies(
        of number: Int64,
        in files: [(name: String, bytes: Data)],
        with chain: DayChain?
    ) throws -> [String: Int] {
        let vault = Vault(self.fixture.keyring, days: chain.map { DayKeys($0, isSealing: false) })
        let place = SealedPlace.payload(try self.id(number), sender: self.alice.id)
        let length = "payload \(number)".utf8.count
        var copies: [String: Int] = [:]
        // The first bytes of values that are encrypted with a key of the keyring or of one of
        // these days.
        let heads: [Data] =
            [Data([1, 0, 0, 0, 1])]
            + (-2...4).map { days in
                let day = Day(of: self.fixture.now + Double(days) * Self.day)
                return withUnsafeBytes(of: day.number.bigEndian) { Data([2]) + Data($0) }
            }
        for (name, content) in files {
            let bytes = name.contains("pg_wal") ? Self.records(of: content) : content
            for head in heads {
                for offset in Self.offsets(of: head, in: bytes) {
                    let value = bytes[(bytes.startIndex + offset)...].prefix(length + Vault.overhead)
                    // Most places with these first bytes contain no encrypted value.
                    guard (try? vault.open(Data(value), in: place)) != nil else { continue }
                    copies[name.contains("pg_wal") ? "log" : "tables", default: 0] += 1
                }
            }
        }
        return copies
    }

    /// Returns the records in a file of the log, without the headers of its pages. A value may
    /// begin on one page and end on the next.
    private static func records(of log: Data) -> Data {
        var records = Data(capacity: log.count)
        for start in stride(from: 0, to: log.count, by: 8192) {
            records += log[(log.startIndex + start)...].prefix(8192).dropFirst(start == 0 ? 40 : 24)
        }
        return records
    }

    /// Returns the offsets at which `head` occurs in `bytes`. The log is large, and
    /// `Data.range(of:)` would take minutes.
    ///
    /// The function searches for the last byte of `head` first, because the other bytes are
    /// frequent.
    private static func offsets(of head: Data, in bytes: Data) -> [Int] {
        bytes.withUnsafeBytes { all in
            head.withUnsafeBytes { needle in
                guard let begin = all.baseAddress, let pattern = needle.baseAddress else { return [] }
                let last = needle.count - 1
                var (offsets, start): ([Int], Int) = ([], last)
                while let hit = memchr(begin + start, Int32(needle[last]), max(0, all.count - start)) {
                    let offset = UnsafeRawPointer(hit) - begin
                    if memcmp(hit - last, pattern, needle.count) == 0 { offsets.append(offset - last) }
                    start = offset + 1
                }
                return offsets
            }
        }
    }

    @Test func anExpiredPayloadIsUnreadableInAllFilesOnceItsKeyIsGone() async throws {
        let store = self.fixture.store
        try await self.fixture.post(5, from: self.alice, to: "username:alice")
        #expect(try await self.payload(5, in: store) == "payload 5")
        self.fixture.clock.advance(by: Self.day)
        while try await store.deleteExpired(now: self.fixture.now, page: 100) {}
        #expect(try self.connection().query("select id from notification").count == 0)
        let (before, stolen) = (try self.present(), try Self.cluster.copyFiles(of: self.address))
        // No query finds the payload any more. As a control, a thief who also has the key of the
        // payload's day can still decrypt the payload from the files.
        let copies = try self.openCopies(of: 5, in: stolen, with: before)
        #expect(copies["log", default: 0] >= 1 && copies["tables", default: 0] >= 1, "\(copies)")
        // The keyring alone does not decrypt the payload.
        #expect(try self.openCopies(of: 5, in: stolen, with: nil).isEmpty)
        // Two hours are enough, because the allowed difference of clocks is one hour.
        let turn = try #require(try await store.cluster?.turnDayKeys(now: self.fixture.now + 2 * 3600))
        #expect(turn.destroyedBefore == Day(of: self.fixture.now))
        let after = try self.present()
        #expect(after.day == Day(of: self.fixture.now))
        #expect(try self.openCopies(of: 5, in: stolen, with: after).isEmpty)
        #expect(
            try self.openCopies(of: 5, in: Self.cluster.copyFiles(of: self.address), with: after).isEmpty
        )
    }

    @Test func aReadOncePayloadIsReencryptedDailyUntilItIsTaken() async throws {
        let other = try self.reopened(try self.present())
        let store = self.fixture.store
        try await self.fixture.post(
            5,
            from: self.alice,
            to: "username:alice",
            isReadOnce: true,
            expiresIn: 9 * Self.day
        )
        for _ in 0..<3 {
            self.fixture.clock.advance(by: Self.day)
            _ = try await store.cluster?.turnDayKeys(now: self.fixture.now)
            _ = try await other.cluster?.turnDayKeys(now: self.fixture.now)
            for store in [store, other] { #expect(try await self.payload(5, in: store) == "payload 5") }
        }
        #expect(try self.present().day > Day(of: self.fixture.now - 2 * Self.day))
        let usage = try self.connection().query("select bytes from usage")[0].integer(0)
        #expect(usage == Int64(Vault.overhead + "payload 5".utf8.count))
        #expect(try await store.take(try self.id(5), by: self.alice.id, now: self.fixture.now))
        let (before, stolen) = (try self.present(), try Self.cluster.copyFiles(of: self.address))
        #expect(try !self.openCopies(of: 5, in: stolen, with: before).isEmpty)
        _ = try await store.cluster?.turnDayKeys(now: self.fixture.now + 2 * Self.day)
        #expect(try self.openCopies(of: 5, in: stolen, with: self.chain.current).isEmpty)
    }

    @Test func aRestoredPayloadIsErasedIfItsKeyIsGone() async throws {
        let store = self.fixture.store
        try await self.fixture.post(
            5,
            from: self.alice,
            to: "username:alice",
            isReadOnce: true,
            expiresIn: 9 * Self.day
        )
        // The server's day keys advance by four days, while the database stays as it is. This is
        // the state after an operator restores, on the fifth day, a backup of the first day.
        self.chain.advance(to: try self.present().advanced(to: Day(of: self.fixture.now + 4 * Self.day)))
        let later = try self.reopened(self.chain.current)
        self.fixture.clock.advance(by: 4 * Self.day)
        let turn = try await later.cluster?.turnDayKeys(now: self.fixture.now)
        #expect(turn?.erased == 1)
        #expect(try await self.payload(5, in: later) == nil)
        #expect(try self.connection().query("select bytes from usage")[0].integer(0) == 0)
        await store.close()
    }

    @Test func scheduledExpressionsAreEncryptedWithADayKey() async throws {
        try await self.fixture.post(5, from: self.alice, to: "username:alice", sendAt: self.fixture.now + 60)
        let sealed = try self.connection().query("select expressions from scheduled")[0].data(0)
        #expect(
            sealed.prefix(5)
                == withUnsafeBytes(of: Day(of: self.fixture.now + 3660).number.bigEndian) { Data([2]) + Data($0) }
        )
        self.fixture.clock.advance(by: 61)
        _ = try await self.fixture.store.releaseScheduled(now: self.fixture.now)
        #expect(try await self.payload(5, in: self.fixture.store) == "payload 5")
    }

    @Test func aServerWithAMissingOrForeignDayKeyFileIsRefused() throws {
        let missing = #expect(throws: StoreError.self) { _ = try self.reopened(nil) }
        #expect("\(missing, default: "")".contains("second is missing; copy it from another server"))
        let wrong = #expect(throws: StoreError.self) {
            _ = try self.reopened(DayChain(from: Day(of: self.fixture.now)))
        }
        #expect("\(wrong, default: "")".contains("belongs to the servers of another database"))
        #expect(wrong?.isConfiguration == true)
        // The store also accepts day keys that have advanced further than the database.
        let current = try self.present()
        _ = try self.reopened(current.advanced(to: Day(of: self.fixture.now + 5 * Self.day)))
    }

    @Test func theReportShowsHowFarEachHolderHasDestroyedKeys() async throws {
        let other = try self.reopened(try self.present())
        _ = try await other.cluster?.turnDayKeys(now: self.fixture.now)
        let now = Date()
        _ = try await self.fixture.store.cluster?.turnDayKeys(now: now)
        let report = try #require(try PostgreSQLPlace(self.address, pool: .longTimeouts).dayKeys())
        #expect(report.isSealing)
        #expect(report.holders.map(\.place) == ["first", "second"])
        #expect(report.late(at: now).map(\.place) == ["second"])
        #expect(report.holders.first?.day == DayKeyReport.firstDay(at: now))
        // A day's key is destroyed only if the day has passed by the server's clock and by the
        // database's. One of the two clocks may be ahead.
        let turn = try await self.fixture.store.cluster?.turnDayKeys(now: now + 5 * Self.day)
        #expect(turn?.destroyedBefore == nil)
    }

    @Test func theManualsStepsRecoverFromTheLossOfAllDayKeys() async throws {
        try await self.fixture.post(5, from: self.alice, to: "username:alice", expiresIn: 3 * Self.day)
        await self.fixture.store.close()
        let manual = try Repository.text(of: "docs/operate/postgresql.md")
        let statements = try #require(
            manual.firstMatch(of: /```sql\n(-- No day key is left.*?)```/.dotMatchesNewlines())
        )
        try self.connection().execute(String(statements.1))
        let later = try self.reopened(nil)
        #expect(try await self.payload(5, in: later) == nil)
        #expect(try self.connection().query("select bytes from usage")[0].integer(0) == 0)
        #expect(later.vault.days?.isSealing == true)
    }

    // MARK: Servers of an older version

    @Test func dayKeysAreUsedOnceAllOlderServersAreGone() async throws {
        let address = try PostgreSQLCluster.shared.newDatabase()
        let old = PostgreSQLPlace(
            address,
            Migration.allPostgreSQL.filter { $0.name < Migration.dayKeys },
            pool: .longTimeouts
        )
        let keyring = self.fixture.keyring
        // Servers of the older version serve the newest schema, too.
        await (try PostgreSQLPlace(address, pool: .longTimeouts).open(keyring)).close()
        let older = try old.open(keyring)
        var options = StoreOptions()
        options.cluster.dayChain = MemoryDayChain(nil)
        let newer = try PostgreSQLPlace(address, pool: .longTimeouts).open(keyring, options)
        #expect(newer.vault.days?.isSealing == false)
        #expect(try await newer.cluster?.turnDayKeys(now: Date())?.begins == false)
        // Another server of the older version may still start, as long as one older server runs.
        await (try old.open(keyring)).close()
        await older.close()
        #expect(try await newer.cluster?.turnDayKeys(now: Date())?.begins == true)
        #expect(newer.vault.days?.isSealing == true)
        #expect(throws: StoreError.self) { _ = try old.open(keyring) }
    }
}
