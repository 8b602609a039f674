import Foundation
import GRDB
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

/// What becomes of sealed values when the keys change.
@Suite(.timeLimit(.minutes(5))) struct RewrapTests {
    private let old = Keyring.generateText()
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture(keyring: self.old)
    }

    private var both: String {
        get throws { try Keyring.addingKey(to: self.old).text }
    }

    /// How many values `fill` has sealed: the secret, names, handles, tags, expressions and payloads.
    private static let count: Int = [1, 2, 6, 6, 2, 2].reduce(0, +)

    /// Something in each sealed column.
    private func fill() async throws {
        for name in ["alice", "bob"] {
            let user = try await fixture.addUser(name)
            for number in 0..<3 { try await fixture.addDevice(of: user, handle: "d-\(name)-\(number)", tags: ["news"]) }
            try await fixture.post(Int64(name.utf8.count), from: user, to: "news", page: 2)
        }
    }

    /// What is sealed, each with the number of its key.
    private func keyNumbers(_ store: SQLiteStore) async throws -> [UInt32] {
        try await store.writer.write { db in
            try SealedColumn.all.flatMap { column in
                try Data.fetchAll(
                    db,
                    sql: "select \(column.column) from \(column.table) where \(column.column) is not null"
                ).map { $0[1..<5].reduce(0) { $0 << 8 | UInt32($1) } }
            }
        }
    }

    /// Everything is there that `fill` has made.
    private func check(_ store: any Store) async throws {
        let reader = try store.makeReader()
        for name in ["alice", "bob"] {
            let username = try #require(Username(name))
            let user = try #require(try await reader.user(named: username))
            let handles = try await reader.devices(ofUser: user.id).map(\.handle.value)
            #expect(handles.sorted() == ["d-\(name)-0", "d-\(name)-1", "d-\(name)-2"])
            let number = Int64(name.utf8.count)
            let id = try #require(NotificationID(rawValue: number))
            let found = try await reader.notification(id, for: user.id, alsoAsSender: true, now: fixture.now)
            let sealed = try #require(found)
            let payload = try store.vault.open(sealed.sealedPayload, in: .payload(id, sender: sealed.sender))
            #expect(payload == Data("payload \(number)".utf8))
        }
    }

    @Test(arguments: [1, 2, 1000])
    func allIsSealedAnewAndTheOldKeyCanGo(page: Int) async throws {
        try await self.fill()
        let both = try self.both
        let before = try await self.keyNumbers(fixture.sqlite)
        #expect(before == [UInt32](repeating: 1, count: Self.count))
        #expect(try await fixture.store.rewrap() == nil, "nothing is to be done")
        #expect(try await fixture.store.exchange(Keyring(text: both), now: fixture.now))
        #expect(try await !fixture.store.exchange(Keyring(text: both), now: fixture.now))
        let entries = try await fixture.reader.auditEntries(before: nil, limit: 9)
        #expect(entries.map { "\($0.action) \($0.subject)" } == ["keys.change key 2"])
        let result = try await fixture.store.rewrap(page: page)
        // One more: the audit's entry about the change.
        #expect(result?.renewed == before.count + 1)
        #expect(result?.unused == [1])
        #expect(try await self.keyNumbers(fixture.sqlite) == [UInt32](repeating: 2, count: before.count + 1))
        await fixture.store.close()

        let new = try Keyring(text: Keyring.removingKey(1, from: both))
        let next = try SQLiteStore(path: fixture.sqlite.path, keyring: new)
        try await self.check(next)
        while try await next.expandFanout(page: 10, now: fixture.now) != nil {}
        await next.close()
    }

    @Test func whatABrokenOffPassHasLeftIsDoneByTheNextStart() async throws {
        try await self.fill()
        let both = try Keyring(text: self.both)
        _ = try await fixture.store.exchange(both, now: fixture.now)
        let column = try #require(SealedColumn.all.first { $0.table == "user" })
        let vault = fixture.store.vault
        let page = try await fixture.sqlite.writer.write { try column.rewrap($0, vault, after: 0, limit: 1) }
        #expect(page.renewed == 1)
        #expect(page.last == 1)
        await fixture.store.close()

        let next = try SQLiteStore(path: fixture.sqlite.path, keyring: both)
        #expect(try await next.rewrap()?.unused == [1])
        try await self.check(next)
        #expect(try await Set(self.keyNumbers(next)) == [2])
        await next.close()
    }

    @Test func whatWasSealedBeforeTheExchangeAndStoredAfterItIsSealedAnewOnTheWay() async throws {
        let alice = try await fixture.addUser("alice")
        let id = try #require(NotificationID(rawValue: 7))
        let sealed = try fixture.store.vault.seal(Data("late".utf8), in: .payload(id, sender: alice.id))
        _ = try await fixture.store.exchange(Keyring(text: self.both), now: fixture.now)
        #expect(try await fixture.store.rewrap()?.unused == [1])
        let notification = NewNotification(
            id: id,
            sender: alice.id,
            sealedPayload: sealed,
            audience: Audience([.tag(Tag(of: alice.name))]),
            isStoredByClients: true,
            isReadOnce: false,
            priority: .high,
            collapseID: nil,
            createdAt: fixture.now,
            expiresAt: fixture.now + 60
        )
        _ = try await fixture.store.post(notification)
        #expect(try await Set(self.keyNumbers(fixture.sqlite)) == [2])
    }

    @Test func hashesStayTheSame() async throws {
        try await self.fill()
        let key = fixture.store.indexSecret.derive("x")
        let both = try self.both
        _ = try await fixture.store.exchange(Keyring(text: both), now: fixture.now)
        _ = try await fixture.store.rewrap()
        await fixture.store.close()
        let new = try Keyring(text: Keyring.removingKey(1, from: both))
        let next = try SQLiteStore(path: fixture.sqlite.path, keyring: new)
        #expect(next.indexSecret.derive("x") == key)
        await next.close()
    }

    @Test func aKeyInUseThatIsMissingOrAnotherIsRefusedByItsNumber() async throws {
        let other = Keyring.generateText()
        let another = try Keyring(text: Keyring.addingKey(to: other).text)
        let missing = try Keyring(text: Keyring.removingKey(1, from: Keyring.addingKey(to: other).text))
        for (keyring, words) in [(another, "key 1 is not the key that"), (missing, "lacks key 1")] {
            let error = await #expect(throws: StoreError.self) {
                try await fixture.store.exchange(keyring, now: fixture.now)
            }
            #expect("\(try #require(error))".contains(words))
        }
        #expect(fixture.store.vault.keyring == fixture.keyring, "the old one stays")
        await fixture.store.close()
        for keyring in [another, missing] {
            let error = #expect(throws: StoreError.self) {
                try SQLiteStore(path: fixture.sqlite.path, keyring: keyring)
            }
            #expect(try #require(error).isConfiguration)
        }
        await #expect(throws: Never.self) {
            try await SQLiteStore(path: fixture.sqlite.path, keyring: fixture.keyring).close()
        }
    }

    @Test func aValueThatDoesNotOpenKeepsItsKeyInUse() async throws {
        try await self.fill()
        try await fixture.sqlite.writer.write { db in
            try db.execute(sql: "update user set name = (select handle from device where number = 1) where id = 1")
        }
        _ = try await fixture.store.exchange(Keyring(text: self.both), now: fixture.now)
        let result = try await fixture.store.rewrap()
        #expect(result?.unreadable == 1)
        #expect(result?.unused == [])
        #expect(try SQLiteDatabase(path: fixture.sqlite.path).dataKeys().map(\.number) == [1, 2])
    }

    @Test func sealsAreCounted() async throws {
        try await self.fill()
        try await fixture.store.writeSealCounts()
        try await fixture.store.writeSealCounts()
        // The secret, and what `fill` has made.
        let seals = try SQLiteDatabase(path: fixture.sqlite.path).dataKeys().map(\.seals)
        #expect(seals == [Self.count])
    }
}
