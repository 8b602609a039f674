import Foundation
import Glibc
import PushCore
import PushStore
import PushTesting
import SQLite
import Synchronization
import Testing

@testable import PushSQLite

/// Erased values are gone from the database's file and its log, even from places from which SQLite
/// has moved them.
@Suite(.timeLimit(.minutes(5))) struct WipingTests {
    enum Way: Sendable {
        case readOnce, leaseEnd, recall, expiry
    }

    private static let count: Int64 = 500
    private let fixture: StoreFixture
    private let alice: User
    private let bob: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.bob = try await self.fixture.addUser("bob")
    }

    /// Posts payloads of many sizes under random ids, so that SQLite splits pages. Each
    /// notification has an alert. Returns the encrypted payloads and alerts.
    private func post(isReadOnce: Bool) async throws -> [Data] {
        let numbers = (0..<Self.count).map { _ in Int64.random(in: 1...(.max)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in numbers {
                group.addTask {
                    let id = try #require(NotificationID(rawValue: number))
                    var payload = Data(count: [60, 200, 900, 5000].randomElement() ?? 60)
                    payload.withUnsafeMutableBytes { bytes in
                        if let start = bytes.baseAddress { arc4random_buf(start, bytes.count) }
                    }
                    let alert = try fixture.store.vault.seal(Data("{}".utf8), in: .alert(id, sender: bob.id))
                    let outcome = try await fixture.store.post(
                        NewNotification(
                            id: id,
                            sender: bob.id,
                            sealedPayload: fixture.store.vault.seal(payload, in: .payload(id, sender: bob.id)),
                            audience: fixture.store.hashed(Audience([.tag(Tag(of: alice.name))])),
                            createdAt: fixture.now,
                            expiresAt: fixture.now + 60,
                            options: NotificationOptions {
                                $0.isReadOnce = isReadOnce
                                $0.sealedAlert = alert
                            }
                        )
                    )
                    #expect(outcome == .stored(pushes: 0, hasWork: false))
                }
            }
            try await group.waitForAll()
        }
        return try await self.sealed()
    }

    /// Returns all encrypted payloads and alerts in the database.
    private func sealed() async throws -> [Data] {
        try await fixture.sqlite.writer.write { db in
            try Data.fetchAll(
                db,
                sql: """
                    select payload from notification where payload is not null
                    union all select alert from notification where alert is not null
                    """
            )
        }
    }

    /// Copies the files during a write, so that the writer does not truncate its log meanwhile. If
    /// a file got shorter, Foundation's copy would never end.
    private func copyAsAKillLeavesIt() async throws -> TemporaryFolder {
        let (folder, other) = (fixture.folder, try TemporaryFolder())
        try await fixture.sqlite.writer.write { _ in
            for name in ["test.db", "test.db-wal"] {
                try FileManager.default.copyItem(atPath: folder.file(name), toPath: other.file(name))
            }
        }
        return other
    }

    /// Copies the files like `copyAsAKillLeavesIt`. Then opens the copy as another program would,
    /// which moves the contents of the log into the file.
    private func copyAsAnotherProgramLeavesIt() async throws -> TemporaryFolder {
        let other = try await self.copyAsAKillLeavesIt()
        let program = try Connection(path: other.file("test.db"))
        _ = try program.read { try Int.fetchOne($0, sql: "select count(*) from account") }
        try program.close()
        #expect(!FileManager.default.fileExists(atPath: other.file("test.db-wal")))
        return other
    }

    private static let planted = Data("a copy of a cell that is gone".utf8)

    /// Finds the first page with enough free space. Writes bytes into this space, as SQLite may
    /// leave them there.
    private static func plant(in path: String, behind first: Int) throws {
        let descriptor = self.open(path)
        defer { close(descriptor) }
        let file = try #require(try DatabaseFile(descriptor))
        var page = [UInt8](repeating: 0, count: file.pageSize)
        for number in (first + 1)...file.pageCount {
            let position = (number - 1) * file.pageSize
            #expect(pread(descriptor, &page, page.count, position) == page.count)
            let room = page.withUnsafeBytes { DatabaseFile.room(in: $0, isFirst: false) }
            guard let room, room.count > self.planted.count else { continue }
            let bytes = Array(self.planted)
            #expect(pwrite(descriptor, bytes, bytes.count, position + room.lowerBound) == bytes.count)
            return
        }
        throw StoreFixture.Missing("no page has room")
    }

    private func erase(_ way: Way) async throws {
        let ids = try await fixture.sqlite.writer.write { try Int64.fetchAll($0, sql: "select id from notification") }
        switch way {
        case .readOnce, .recall:
            for id in ids.compactMap(NotificationID.init) {
                if way == .recall {
                    #expect(try await fixture.store.recall(id, by: .administrator, now: fixture.now))
                } else {
                    #expect(try await fixture.store.take(id, by: alice.id, now: fixture.now))
                }
            }
        case .leaseEnd:
            for id in ids.compactMap(NotificationID.init) { #expect(try await self.lease(id) == .granted) }
            while let end = try await fixture.store.endLeases(now: fixture.now + 60, limit: 100) {
                #expect(end == fixture.now + 60)
            }
        case .expiry:
            while try await fixture.store.deleteExpired(now: fixture.now + 60, page: 100) {}
        }
    }

    private func lease(_ id: NotificationID) async throws -> PayloadLease {
        try await fixture.store.lease(id, to: alice.id, until: fixture.now + 60, recording: nil, now: fixture.now)
    }

    /// Returns how many of the values are, at least in part, in the folder's files. A part is
    /// eight bytes near the value's start or at its end.
    private func found(_ values: [Data], in folder: TemporaryFolder) throws -> Int {
        var parts: [UInt64: Int] = [:]
        // Whether any part begins with these two bytes. This quick check avoids most of the
        // millions of lookups in `parts`.
        var isBegin = [Bool](repeating: false, count: 1 << 16)
        for (index, value) in values.enumerated() {
            // A part skips the format and the key's number, because they are equal in all values.
            for part in [value[5..<13], value.suffix(8)] {
                let word = part.reduce(into: UInt64(0)) { $0 = $0 >> 8 | UInt64($1) << 56 }
                parts[word] = index
                isBegin[Int(word & 0xFFFF)] = true
            }
        }
        var found: Set<Int> = []
        try folder.contents().withUnsafeBytes { bytes in
            for offset in 0..<max(0, bytes.count - 7) {
                let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
                if isBegin[Int(word & 0xFFFF)], let index = parts[word] { found.insert(index) }
            }
        }
        return found.count
    }

    @Test(arguments: [Way.readOnce, .leaseEnd, .recall, .expiry])
    func erasedPayloadAndAlertLeaveNoTrace(way: Way) async throws {
        let sealed = try await self.post(isReadOnce: way == .readOnce || way == .leaseEnd)
        #expect(sealed.count == 2 * Int(Self.count))
        #expect(try self.found(sealed, in: fixture.folder) == sealed.count)
        try await self.erase(way)
        try await self.wipe()
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func oldPasswordsAndOldEntriesOfTheAuditAreWipedSoon() async throws {
        let (store, hash) = (fixture.store, PasswordHash(phc: "new"))
        let record = AuditRecord(.changeUser, of: "alice", at: Date())
        try await self.expectWiping {
            _ = try await store.changePassword(of: alice, to: hash, by: record, now: record.at)
        }
        try await self.expectWiping {
            try await store.rehashPassword(of: alice, from: hash, to: PasswordHash(phc: "stronger"))
        }
        try await self.expectWiping { _ = try await store.trimAudit(before: .distantFuture, limit: 10) }
    }

    /// Checks that `work` makes the store schedule a wipe.
    private func expectWiping(
        sourceLocation: SourceLocation = #_sourceLocation,
        by work: () async throws -> Void
    ) async throws {
        let before = fixture.sqlite.writer.state.withLock { $0.erasures }
        try await work()
        let after = fixture.sqlite.writer.state.withLock { $0.erasures }
        #expect(after > before, sourceLocation: sourceLocation)
    }

    @Test func deletedUsersAndDevicesLeaveNoTrace() async throws {
        var ids: [RegistrationID] = []
        for number in 0..<60 {
            ids.append(try await fixture.addDevice(of: alice, handle: "h-\(number)", tags: ["news"]))
        }
        let sealed = try await fixture.sqlite.writer.write { db in
            try Data.fetchAll(db, sql: "select handle from device union all select tags from device")
                + Data.fetchAll(db, sql: "select name from account where id = \(alice.id)")
        }
        #expect(sealed.count == 121)
        // Some devices are unregistered, retired, moved to another user, or get another handle.
        // The other devices are deleted with their user.
        for id in ids[..<10] { #expect(try await fixture.store.unregister(id, ofUser: alice.id)) }
        let devices = try await fixture.reader.devices(ofUser: alice.id)
        for device in devices[..<10] {
            let retired = try await fixture.store.retire(
                device: device.number,
                handle: device.handle.value,
                in: Lane(Platform("apns")),
                reason: "gone",
                since: fixture.now,
                now: fixture.now
            )
            #expect(retired == device.id)
        }
        for device in devices[10..<20] { try await fixture.addDevice(of: bob, handle: device.handle.value) }
        #expect(try await fixture.store.deleteUser(alice.name) == .done)
        try await self.wipe()
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func nextStartWipesErasuresBeforeACrash() async throws {
        let sealed = try await self.post(isReadOnce: true)
        // The log cannot be truncated while this reader's transaction is open.
        let report = try fixture.sqlite.makeSQLiteReader()
        #expect(report.hold())
        try await self.erase(.readOnce)
        let other = try await self.copyAsAKillLeavesIt()
        report.release()
        #expect(try self.found(sealed, in: other) > 0)
        let next = try SQLiteStore(path: other.file("test.db"), keyring: fixture.keyring)
        #expect(try self.found(sealed, in: other) == 0)
        await next.close()
    }

    @Test func nextStartEndsALeaseThatExpiredMeanwhile() async throws {
        let sealed = try await self.post(isReadOnce: true)
        let ids = try await fixture.sqlite.writer.write { try Int64.fetchAll($0, sql: "select id from notification") }
        for id in ids.compactMap(NotificationID.init) { #expect(try await self.lease(id) == .granted) }
        let other = try await self.copyAsAKillLeavesIt()
        let next = try SQLiteStore(path: other.file("test.db"), keyring: fixture.keyring)
        #expect(try self.found(sealed, in: other) == sealed.count)
        while try await next.endLeases(now: fixture.now + 60, limit: 100) != nil {}
        try await eventually { try await next.wipe() }
        #expect(try self.found(sealed, in: other) == 0)
        await next.close()
    }

    @Test func backupDuringTheStartOnlyDelaysWiping() async throws {
        let sealed = try await self.post(isReadOnce: true)
        try await self.erase(.readOnce)
        let other = try await self.copyAsAKillLeavesIt()
        let backup = try Connection.readOnly(path: other.file("test.db"))
        let next = try backup.read { db in
            _ = try Int.fetchOne(db, sql: "select count(*) from account")
            let next = try SQLiteStore(path: other.file("test.db"), keyring: fixture.keyring)
            #expect(FileManager.default.contents(atPath: other.file("test.db-wal"))?.isEmpty == false)
            return next
        }
        try await eventually { try await next.wipe() }
        #expect(try self.found(sealed, in: other) == 0)
        await next.close()
    }

    /// An operator's `sqlite3 … "select …"` moves the log into the file. The log, which shows the
    /// pages that must be wiped, is then gone.
    @Test func nextStartWipesPagesMovedByAnotherProgram() async throws {
        _ = try await self.post(isReadOnce: true)
        let other = try await self.copyAsAnotherProgramLeavesIt()
        try Self.plant(in: other.file("test.db"), behind: 1)
        #expect(try other.contents().range(of: Self.planted) != nil)
        let next = try SQLiteStore(path: other.file("test.db"), keyring: fixture.keyring)
        #expect(try other.contents().range(of: Self.planted) == nil)
        await next.close()
        #expect(try SQLiteDatabase(path: other.file("test.db")).inspect().damage.isEmpty)
    }

    @Test func largeFileIsWipedWhileItIsServed() async throws {
        // This row makes more pages than the store checks at its start.
        try await fixture.sqlite.writer.write { db in
            try db.execute(sql: "insert into collapse values (0, hex(zeroblob(10000000)), 0, 0)")
        }
        _ = try await self.post(isReadOnce: true)
        let other = try await self.copyAsAnotherProgramLeavesIt()
        try Self.plant(in: other.file("test.db"), behind: 4096)
        let next = try SQLiteStore(path: other.file("test.db"), keyring: fixture.keyring)
        #expect(!next.writer.wiper.knowsAllPages)
        try await eventually { next.writer.wiper.knowsAllPages }
        #expect(try other.contents().range(of: Self.planted) == nil)
        await next.close()
    }

    /// After an interrupted wiping, the next start wipes again.
    @Test func incompletelyWipedFileIsNotMarkedAsWiped() async throws {
        try await fixture.sqlite.writer.write { db in
            try db.execute(sql: "insert into collapse values (0, hex(zeroblob(10000000)), 0, 0)")
        }
        let other = try await self.copyAsAnotherProgramLeavesIt()
        let next = try SQLiteStore(path: other.file("test.db"), keyring: fixture.keyring)
        let isKnown = next.writer.wiper.knowsAllPages
        await next.close()
        #expect(!isKnown)
        #expect(try String(contentsOfFile: other.file("test.db.lock"), encoding: .utf8).isEmpty)
    }

    @Test func onlyAClosedAndUnchangedFileCountsAsWiped() async throws {
        let path = fixture.sqlite.path
        await fixture.store.close()
        let lock = fixture.folder.file("test.db.lock")
        let stamp = try String(contentsOfFile: lock, encoding: .utf8)
        #expect(!stamp.isEmpty)
        let wiper = try PageWiper(database: path) { _ in }
        #expect(wiper.stamp == stamp)
        wiper.close()
        let program = try Connection(path: path)
        try program.exclusively { db in
            try db.execute(sql: "insert into parking values (0, 0)")
            try db.checkpoint(.passive)
        }
        try program.close()
        let again = try PageWiper(database: path) { _ in }
        #expect(again.stamp != stamp)
        again.close()
        let next = try SQLiteStore(path: path, keyring: fixture.keyring)
        #expect(try String(contentsOfFile: lock, encoding: .utf8).isEmpty)
        await next.close()
        #expect(try !String(contentsOfFile: lock, encoding: .utf8).isEmpty)
    }

    /// The log cannot be opened, as in a process without free file descriptors.
    @Test func unreadableLogLeavesAllPagesUnknown() throws {
        let folder = try TemporaryFolder()
        let log = folder.file("test.db-wal")
        let wiper = try PageWiper(database: folder.file("test.db")) { _ in }
        wiper.recordAllPagesKnown()
        #expect(try wiper.recordCheckpoint())
        #expect(wiper.knowsAllPages)
        try FileManager.default.createSymbolicLink(atPath: log, withDestinationPath: log)
        #expect(try !wiper.recordCheckpoint())
        #expect(!wiper.knowsAllPages)
        wiper.close()
    }

    /// Another program may have truncated the file by mistake.
    @Test(arguments: [0, 1000]) func aTruncatedFileIsNotWiped(length: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("test.db")
        let program = try Connection(path: path)
        try program.exclusively { try $0.execute(sql: "pragma journal_mode = wal; create table page (content blob)") }
        let wiper = try PageWiper(database: path) { _ in }
        #expect(try wiper.recordCheckpoint())
        #expect(truncate(path, length) == 0)
        try wiper.wipe()
        #expect(try !wiper.wipeUnknown(atMost: 10))
        wiper.close()
        withExtendedLifetime(program) {}
    }

    /// When SQLite splits a page, copies of its cells stay in the free space, in the file and in
    /// SQLite's memory.
    @Test func wipedBytesDoNotReturnFromSQLitesMemory() async throws {
        _ = try await self.post(isReadOnce: false)
        let ids = try await fixture.sqlite.writer.write { db in
            try Int64.fetchAll(db, sql: "select id from notification where id % 2 = 0")
        }
        let sealed = try await fixture.sqlite.writer.write { db in
            try Data.fetchAll(db, sql: "select payload from notification where id % 2 = 0")
        }
        for id in ids.compactMap(NotificationID.init) {
            #expect(try await fixture.store.recall(id, by: .administrator, now: fixture.now))
        }
        try await self.wipe()
        #expect(try self.found(sealed, in: fixture.folder) == 0)
        // Changes each page without using the free space where a copy may be.
        try await fixture.sqlite.writer.write {
            try $0.execute(sql: "update notification set expires_at = expires_at + 1")
        }
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func readingReportOnlyDelaysWiping() async throws {
        let sealed = try await self.post(isReadOnce: true)
        try await self.erase(.readOnce)
        let report = try fixture.sqlite.makeSQLiteReader()
        // The wiping waits while this reader's transaction is open.
        #expect(report.hold())
        let isDone = try await fixture.sqlite.wipe()
        report.release()
        #expect(!isDone)
        try await self.wipe()
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func storeWipesByItself() async throws {
        let sealed = try await self.post(isReadOnce: true)
        try await self.erase(.readOnce)
        try await eventually { try self.found(sealed, in: fixture.folder) == 0 }
    }

    @Test func theDatabaseStaysWhole() async throws {
        let kept = try await self.post(isReadOnce: false)
        for name in ["carol", "dave"] { try await fixture.addUser(name) }
        _ = try await fixture.store.deleteUser(#require(Username("carol")))
        try await self.wipe()
        #expect(try await Set(self.sealed()) == Set(kept))
        #expect(try SQLiteDatabase(path: fixture.sqlite.path).inspect().damage.isEmpty)
    }

    @Test func onlyFreeSpaceOfCellPagesIsWiped() {
        var page = [UInt8](repeating: 0xFF, count: 512)
        func room(_ isFirst: Bool) -> Range<Int>? {
            page.withUnsafeBytes { DatabaseFile.room(in: $0, isFirst: isFirst) }
        }
        #expect(room(false) == nil)
        page.replaceSubrange(0..<8, with: [0x0D, 0, 0, 0, 3, 1, 0x90, 0])
        #expect(room(false) == 14..<400)
        page[0] = 0x05
        #expect(room(false) == 18..<400)
        page.replaceSubrange(100..<108, with: [0x0D, 0, 0, 0, 1, 2, 0, 0])
        #expect(room(true) == 110..<512)
        // The page has cells that begin before the end of the cell pointers, or beyond the page.
        // SQLite does not write such pages.
        for start in [[0, 9], [2, 1], [0, 0]] as [[UInt8]] {
            page.replaceSubrange(5..<7, with: start)
            #expect(room(false) == nil)
        }
    }

    // MARK: Pages without cells

    @Test(arguments: ["full", "incremental"])
    func pointerMapsAreLeftAlone(mode: String) async throws {
        let (folder, keyring) = (try TemporaryFolder(), Keyring.generateText())
        let path = folder.file("test.db")
        try await SQLiteStore(path: path, keyring: Keyring(text: keyring)).close()
        let program = try Connection(path: path)
        try program.exclusively { db in
            try db.execute(sql: "pragma auto_vacuum = \(mode)")
            try db.execute(sql: "pragma journal_mode = delete")
            try db.execute(sql: "vacuum")
            try db.execute(sql: "pragma journal_mode = wal")
        }
        try program.close()
        let storage = try StoreFixture(in: folder, keyring: keyring)
        try await storage.addUser("alice")
        // These posts and deletions leave free space of many sizes, and free pages between other
        // pages.
        for number: Int64 in 1...200 { try await storage.post(number, from: bob, to: "username:alice", expiresIn: 60) }
        while try await storage.store.deleteExpired(now: storage.now + 60, page: 100) {}
        // The filling reaches beyond the second pointer map. A page of cells follows this map and
        // begins like it.
        try await storage.sqlite.writer.write { db in
            try db.execute(sql: "create table filling (number integer primary key, bytes blob) strict")
            try db.execute(
                sql: """
                    with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000)
                    insert into filling select i, randomblob(1500) from n
                    """
            )
        }
        try await eventually { try await storage.sqlite.wipe() }
        let damage = try await storage.sqlite.writer.write { try String.fetchAll($0, sql: "pragma quick_check") }
        #expect(damage == ["ok"])
        await storage.store.close()
        let file = try #require(try DatabaseFile(Self.open(path)))
        #expect(file.isPointerMap(2))
        #expect(!file.isPointerMap(1) && !file.isPointerMap(3))
        #expect(file.isPointerMap(2 + 4096 / 5 + 1))
    }

    @Test func fileWithUnidentifiablePagesIsReportedOnce() throws {
        let path = fixture.folder.file("large.db")
        let connection = try Connection(path: path)
        try connection.exclusively { db in
            try db.execute(sql: "pragma page_size = 512")
            try db.execute(sql: "create table filling (bytes blob)")
        }
        try connection.close()
        #expect(truncate(path, 512 << 25) == 0)
        let events = Mutex<[StoreEvent]>([])
        let wiper = try PageWiper(database: path) { event in events.withLock { $0.append(event) } }
        #expect(try !wiper.wipeUnknown(atMost: 10))
        #expect(try !wiper.wipeUnknown(atMost: 10))
        wiper.close()
        #expect(!wiper.knowsAllPages)
        #expect(events.withLock { $0.count } == 1)
    }

    // MARK: The locks

    /// When a process closes any descriptor of a file, it loses all its POSIX locks on the file. A
    /// single read of `/proc/locks` may miss a line, but a lost lock stays missing in all further
    /// reads.
    @Test func readingBytesAtRestKeepsTheLocks() async throws {
        try await eventually { try !self.locks().isEmpty }
        let before = try self.locks()
        #expect(try #require(fixture.sqlite.bytesAtRest().first).bytes.starts(with: Data("SQLite format 3".utf8)))
        try await eventually { try Set(before).isSubset(of: self.locks()) }
    }

    /// Returns the lines of `/proc/locks` about the database's file.
    private func locks() throws -> [String] {
        var status = stat()
        #expect(stat(fixture.sqlite.path, &status) == 0)
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/locks"))
        let lines = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        // The number at the start of a line is not a property of the lock, and may differ between
        // reads.
        return lines.filter { $0.contains(":\(status.st_ino) ") }.map { $0.drop { $0 != ":" }.description }.sorted()
    }

    // MARK: - Private

    private static func open(_ path: String) -> Int32 {
        Glibc.open(path, O_RDWR | O_CLOEXEC)
    }

    /// Wipes the pages. Repeats this until it succeeds, because the store's automatic wiping may
    /// be running at the same time.
    private func wipe() async throws {
        try await eventually { try await fixture.sqlite.wipe() }
    }
}
