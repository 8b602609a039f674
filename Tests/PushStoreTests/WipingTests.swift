import Foundation
import GRDB
import PushCore
import PushTesting
import Synchronization
import Testing

@testable import PushStore

/// What was erased is not in the database's file any more, and not in its log: neither where it was nor where SQLite has
/// once moved it from.
@Suite struct WipingTests {
    enum Way: Sendable {
        case readOnce, recall, expiry
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

    /// Payloads of many sizes under random ids, so that pages are divided; returns what is in the database of each.
    private func post(isReadOnce: Bool) async throws -> [Data] {
        let numbers = (0..<Self.count).map { _ in Int64.random(in: 1...(.max)) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in numbers {
                group.addTask {
                    let id = try #require(NotificationID(rawValue: number))
                    let length = [60, 200, 900, 5000].randomElement() ?? 60
                    let payload = Data((0..<length).map { _ in .random(in: 0...255) })
                    let outcome = try await fixture.store.post(
                        NewNotification(
                            id: id,
                            sender: bob.id,
                            sealedPayload: fixture.store.vault.seal(payload, in: .payload(id, sender: bob.id)),
                            audience: Audience([.tag(Tag(of: alice.name))]),
                            isStoredByClients: true,
                            isReadOnce: isReadOnce,
                            priority: .normal,
                            collapseID: nil,
                            createdAt: fixture.now,
                            expiresAt: fixture.now + 60
                        )
                    )
                    #expect(outcome == .stored(pushes: 0, hasWork: false))
                }
            }
            try await group.waitForAll()
        }
        return try await self.payloads()
    }

    private func payloads() async throws -> [Data] {
        try await fixture.store.writer.write { db in
            try Data.fetchAll(db, sql: "select payload from notification where payload is not null")
        }
    }

    private func copyAsAKillLeavesIt() throws -> TemporaryFolder {
        let other = try TemporaryFolder()
        for name in ["test.db", "test.db-wal"] {
            try FileManager.default.copyItem(atPath: fixture.folder.file(name), toPath: other.file(name))
        }
        return other
    }

    private func erase(_ way: Way) async throws {
        let ids = try await fixture.store.writer.write { try Int64.fetchAll($0, sql: "select id from notification") }
        switch way {
        case .readOnce, .recall:
            for id in ids.compactMap(NotificationID.init) {
                if way == .recall {
                    #expect(try await fixture.store.recall(id, by: .administrator, now: fixture.now))
                } else {
                    #expect(try await fixture.store.take(id, by: alice.id, now: fixture.now))
                }
            }
        case .expiry:
            while try await fixture.store.deleteExpired(now: fixture.now + 60, page: 100) {}
        }
    }

    /// How many of the values can be found, even in part: by eight bytes near their begin or at their end.
    private func found(_ values: [Data], in folder: TemporaryFolder) throws -> Int {
        var parts: [UInt64: Int] = [:]
        // What a part begins with: a glance at it spares most look-ups, of which there are millions.
        var isBegin = [Bool](repeating: false, count: 1 << 16)
        for (index, value) in values.enumerated() {
            // Behind the format and the key's number, which all have.
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

    @Test(arguments: [Way.readOnce, .recall, .expiry])
    func anErasedPayloadIsNowhere(way: Way) async throws {
        let sealed = try await self.post(isReadOnce: way == .readOnce)
        #expect(sealed.count == Self.count)
        #expect(try self.found(sealed, in: fixture.folder) == sealed.count)
        try await self.erase(way)
        try await self.wipe()
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func oldPasswordsAndOldEntriesOfTheAuditAreWipedSoon() async throws {
        let (store, hash) = (fixture.store, PasswordHash(phc: "new"))
        let record = AuditRecord(.changeUser, of: "alice")
        try await self.expectWiping { _ = try await store.changePassword(of: alice, to: hash, by: record) }
        try await self.expectWiping {
            try await store.rehashPassword(of: alice, from: hash, to: PasswordHash(phc: "stronger"))
        }
        try await self.expectWiping { _ = try await store.trimAudit(before: .distantFuture, limit: 10) }
    }

    /// Has `work` leave something to be wiped.
    private func expectWiping(
        sourceLocation: SourceLocation = #_sourceLocation,
        by work: () async throws -> Void
    ) async throws {
        try await self.wipe()
        let writer = fixture.store.writer
        writer.state.withLock { $0.wipeDueAt = nil }
        try await work()
        #expect(writer.state.withLock { $0.wipeDueAt } != nil, sourceLocation: sourceLocation)
    }

    @Test func whatGoesWithAUserOrADeviceIsNowhere() async throws {
        var ids: [RegistrationID] = []
        for number in 0..<60 {
            ids.append(try await fixture.addDevice(of: alice, handle: "h-\(number)", tags: ["news"]))
        }
        let sealed = try await fixture.store.writer.write { db in
            try Data.fetchAll(db, sql: "select handle from device union all select tags from device")
                + Data.fetchAll(db, sql: "select name from user where id = \(alice.id)")
        }
        #expect(sealed.count == 121)
        // Deleted, retired, moved to another user, given another handle; and the rest goes with the user.
        for id in ids[..<10] { #expect(try await fixture.store.unregister(id, ofUser: alice.id)) }
        let devices = try fixture.reader.devices(ofUser: alice.id)
        for device in devices[..<10] {
            let isRetired = try await fixture.store.retire(
                device: device.number,
                handle: device.handle.value,
                in: Lane(Platform("apns")),
                reason: "gone",
                since: fixture.now,
                now: fixture.now
            )
            #expect(isRetired)
        }
        for device in devices[10..<20] { try await fixture.addDevice(of: bob, handle: device.handle.value) }
        #expect(try await fixture.store.deleteUser(alice.name) == .done)
        try await self.wipe()
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func whatWasErasedBeforeACrashIsWipedByTheNextStart() async throws {
        let sealed = try await self.post(isReadOnce: true)
        try await self.erase(.readOnce)
        let other = try self.copyAsAKillLeavesIt()
        #expect(try self.found(sealed, in: other) > 0)
        let next = try Store(path: other.file("test.db"), keyring: fixture.keyring)
        #expect(try self.found(sealed, in: other) == 0)
        await next.close()
    }

    @Test func aBackupThatRunsAtTheStartOnlyDelaysIt() async throws {
        let sealed = try await self.post(isReadOnce: true)
        try await self.erase(.readOnce)
        let other = try self.copyAsAKillLeavesIt()
        let backup = try DatabaseQueue.readOnly(path: other.file("test.db"))
        let next = try await backup.read { db in
            _ = try Int.fetchOne(db, sql: "select count(*) from user")
            let next = try Store(path: other.file("test.db"), keyring: fixture.keyring)
            #expect(FileManager.default.contents(atPath: other.file("test.db-wal"))?.isEmpty == false)
            return next
        }
        while try await !next.wipe() { await Task.yield() }
        #expect(try self.found(sealed, in: other) == 0)
        await next.close()
    }

    @Test func aReportThatReadsOnlyDelaysIt() async throws {
        let sealed = try await self.post(isReadOnce: true)
        try await self.erase(.readOnce)
        let report = try fixture.store.makeReader()
        // As long as it reads.
        #expect(report.hold())
        let isDone = try await fixture.store.wipe()
        report.letGo()
        #expect(!isDone)
        try await self.wipe()
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func itHappensByItself() async throws {
        let sealed = try await self.post(isReadOnce: true)
        try await self.erase(.readOnce)
        let deadline = ContinuousClock.now + .seconds(60)
        while try self.found(sealed, in: fixture.folder) > 0, ContinuousClock.now < deadline { await Task.yield() }
        #expect(try self.found(sealed, in: fixture.folder) == 0)
    }

    @Test func theDatabaseStaysWhole() async throws {
        let kept = try await self.post(isReadOnce: false)
        for name in ["carol", "dave"] { try await fixture.addUser(name) }
        _ = try await fixture.store.deleteUser(#require(Username("carol")))
        try await self.wipe()
        #expect(try await Set(self.payloads()) == Set(kept))
        #expect(try DatabaseInspection(path: fixture.store.path).damage.isEmpty)
    }

    @Test func onlyTheRoomOfPagesOfCellsIsWiped() {
        var page = [UInt8](repeating: 0xFF, count: 512)
        #expect(PageWiper.room(in: page, isFirst: false) == nil)
        page.replaceSubrange(0..<8, with: [0x0D, 0, 0, 0, 3, 1, 0x90, 0])
        #expect(PageWiper.room(in: page, isFirst: false) == 14..<400)
        page[0] = 0x05
        #expect(PageWiper.room(in: page, isFirst: false) == 18..<400)
        page.replaceSubrange(100..<108, with: [0x0D, 0, 0, 0, 1, 2, 0, 0])
        #expect(PageWiper.room(in: page, isFirst: true) == 110..<512)
        // Cells that begin before their pointers end, or behind the page: not as SQLite writes it.
        for start in [[0, 9], [2, 1], [0, 0]] as [[UInt8]] {
            page.replaceSubrange(5..<7, with: start)
            #expect(PageWiper.room(in: page, isFirst: false) == nil)
        }
    }

    // MARK: - Private

    /// The wiping that follows by itself may be under way.
    private func wipe() async throws {
        while try await !fixture.store.wipe() { await Task.yield() }
    }
}
