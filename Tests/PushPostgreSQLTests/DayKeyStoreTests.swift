import Foundation
import Migrations
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// Tests that payloads, and their bytes in all files of a server, become unreadable when the keys
/// of their days are destroyed.
@Suite(.timeLimit(.minutes(5))) struct DayKeyStoreTests {
    private static let day: TimeInterval = 86_400
    /// A cluster for this suite alone, because it searches the log for old records: the tests'
    /// shared cluster recycles its log.
    private static let cluster = PostgreSQLCluster(keptLog: 1024)

    private let fixture: StoreFixture
    private let chain: MemoryDayChain
    private let address: DatabaseAddress
    private let alice: User

    /// The tests' clock begins ten days ago, since a key is destroyed only after its day has
    /// passed by the database's clock, too. It begins at noon, so that an hour or two do not lead
    /// into another day.
    init() async throws {
        let folder = try TemporaryFolder()
        self.address = try Self.cluster.newDatabase()
        FolderDatabases.use(self.address, for: folder)
        let first = Day(of: Date() - 10 * Self.day).end - Self.day / 2
        self.chain = MemoryDayChain(DayChain(from: Day(of: first)), place: "first")
        var options = StoreOptions()
        options.dayChain = self.chain
        self.fixture = try StoreFixture(.postgreSQL, in: folder, options: options)
        self.fixture.clock.advance(by: first.timeIntervalSince(self.fixture.now))
        self.alice = try await self.fixture.addUser("alice")
    }

    private func reopened(_ chain: DayChain?, place: String = "second") throws -> any Store {
        var options = StoreOptions()
        options.dayChain = MemoryDayChain(chain, place: place)
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

    /// Returns the current contents of the first server's file.
    private func present() throws -> DayChain { try #require(self.chain.current) }

    private func connection() throws -> BlockingConnection { try BlockingConnection(self.address) }

    /// Returns how many copies of the payload a keyring and day keys can decrypt in a server's
    /// files, by the files' kind.
    private func openCopies(
        of number: Int64,
        in files: [(name: String, bytes: Data)],
        with chain: DayChain?
    ) throws -> [String: Int] {
        let vault = Vault(self.fixture.keyring, days: chain.map { DayKeys($0, isSealing: false) })
        let place = SealedPlace.payload(try self.id(number), sender: self.alice.id)
        let length = "payload \(number)".utf8.count
        var copies: [String: Int] = [:]
        // Finds all bytes that begin like a value encrypted with any key of these days or of the
        // keyring.
        let heads: [Data] =
            [Data([1, 0, 0, 0, 1])]
            + (-2...4).map { days in
                let day = Day(of: self.fixture.now + Double(days) * Self.day)
                return withUnsafeBytes(of: day.number.bigEndian) { Data([2]) + Data($0) }
            }
        for (name, bytes) in files {
            for head in heads {
                for offset in Self.offsets(of: head, in: bytes) {
                    let value = bytes[(bytes.startIndex + offset)...].prefix(length + Vault.overhead)
                    // Most bytes that begin this way are something else.
                    guard (try? vault.open(Data(value), in: place)) != nil else { continue }
                    copies[name.contains("pg_wal") ? "log" : "tables", default: 0] += 1
                }
            }
        }
        return copies
    }

    /// Returns the offsets of the head in the bytes. The log is large, and `Data.range(of:)`
    /// takes minutes for it.
    ///
    /// It searches for the head's last byte first, because the other bytes are frequent.
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
        // This is the control: no query finds the payload any more, but a thief with the files and
        // the keys of that day can decrypt it.
        let copies = try self.openCopies(of: 5, in: stolen, with: before)
        #expect(copies["log", default: 0] >= 1 && copies["tables", default: 0] >= 1, "\(copies)")
        // The keyring alone never decrypts the payload.
        #expect(try self.openCopies(of: 5, in: stolen, with: nil).isEmpty)
        // The next day begins; the hour is the allowed clock skew.
        let turn = try #require(try await store.turnDayKeys(now: self.fixture.now + 2 * 3600))
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
            _ = try await store.turnDayKeys(now: self.fixture.now)
            _ = try await other.turnDayKeys(now: self.fixture.now)
            for store in [store, other] { #expect(try await self.payload(5, in: store) == "payload 5") }
        }
        #expect(try self.present().day > Day(of: self.fixture.now - 2 * Self.day))
        let usage = try self.connection().query("select bytes from usage")[0].integer(0)
        #expect(usage == Int64(Vault.overhead + "payload 5".utf8.count))
        #expect(try await store.take(try self.id(5), by: self.alice.id, now: self.fixture.now))
        let (before, stolen) = (try self.present(), try Self.cluster.copyFiles(of: self.address))
        #expect(try !self.openCopies(of: 5, in: stolen, with: before).isEmpty)
        _ = try await store.turnDayKeys(now: self.fixture.now + 2 * Self.day)
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
        // The server's day keys advance by four days, while the database stays as it is. This
        // simulates that on the fifth day, an operator restores a backup of the first day.
        self.chain.advance(to: try self.present().advanced(to: Day(of: self.fixture.now + 4 * Self.day)))
        let later = try self.reopened(self.chain.current)
        self.fixture.clock.advance(by: 4 * Self.day)
        let turn = try await later.turnDayKeys(now: self.fixture.now)
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
        // A chain that has advanced further is accepted, too.
        let current = try self.present()
        _ = try self.reopened(current.advanced(to: Day(of: self.fixture.now + 5 * Self.day)))
    }

    @Test func theReportShowsHowFarEachHolderHasDestroyedKeys() async throws {
        let other = try self.reopened(try self.present())
        _ = try await other.turnDayKeys(now: self.fixture.now)
        let now = Date()
        _ = try await self.fixture.store.turnDayKeys(now: now)
        let report = try #require(try PostgreSQLPlace(self.address, pool: .longTimeouts).dayKeys())
        #expect(report.isSealing)
        #expect(report.holders.map(\.place) == ["first", "second"])
        #expect(report.late(at: now).map(\.place) == ["second"])
        #expect(report.holders.first?.day == DayKeyReport.firstDay(at: now))
        // A key is destroyed only if the server's and the database's clock both say so, since one
        // of them may be ahead.
        let turn = try await self.fixture.store.turnDayKeys(now: now + 5 * Self.day)
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
        let older = try old.open(keyring)
        var options = StoreOptions()
        options.dayChain = MemoryDayChain(nil)
        let newer = try PostgreSQLPlace(address, pool: .longTimeouts).open(keyring, options)
        #expect(newer.vault.days?.isSealing == false)
        #expect(try await newer.turnDayKeys(now: Date())?.begins == false)
        // Another server of the older version may start at the same time.
        await (try old.open(keyring)).close()
        await older.close()
        #expect(try await newer.turnDayKeys(now: Date())?.begins == true)
        #expect(newer.vault.days?.isSealing == true)
        #expect(throws: StoreError.self) { _ = try old.open(keyring) }
    }
}
