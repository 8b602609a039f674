import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The rows of encrypted values when an operator changes the keys.
@Suite(.timeLimit(.minutes(5))) struct RewrapRowTests {
    private let old = Keyring.generateText()
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture(keyring: self.old)
    }

    private var both: String {
        get throws { try Keyring.addingKey(to: self.old).text }
    }

    /// The number of values that `fillSealed` encrypts: the secret, names, handles, tags,
    /// expressions, payloads and alerts.
    private static let count: Int = [1, 2, 6, 6, 2, 2, 2].reduce(0, +)

    /// Returns the key numbers of all encrypted values.
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

    @Test(arguments: [1, 2, 1000])
    func eachValueIsUnderTheNewKey(page: Int) async throws {
        try await self.fixture.fillSealed()
        let before = try await self.keyNumbers(fixture.sqlite)
        #expect(before == [UInt32](repeating: 1, count: Self.count))
        #expect(try await fixture.store.replaceKeyring(Keyring(text: self.both), now: fixture.now))
        let result = try await fixture.store.rewrap(page: page)
        // One more value was encrypted: the audit's entry about the change.
        #expect(result?.renewed == before.count + 1)
        #expect(try await self.keyNumbers(fixture.sqlite) == [UInt32](repeating: 2, count: before.count + 1))
    }

    @Test func nextStartFinishesAnInterruptedRewrap() async throws {
        try await self.fixture.fillSealed()
        let both = try self.both
        _ = try await fixture.store.replaceKeyring(Keyring(text: both), now: fixture.now)
        let column = try #require(SealedColumn.all.first { $0.table == "account" })
        let vault = fixture.store.vault
        let page = try await fixture.sqlite.writer.write { try column.rewrap($0, vault, after: 0, limit: 1) }
        #expect(page.renewed == 1)
        #expect(page.last == 1)
        await fixture.store.close()

        let next = try StoreFixture(in: fixture.folder, keyring: both)
        #expect(try await next.store.rewrap()?.unused == [1])
        #expect(try await next.openSealed() == StoreFixture.sealedSample)
        #expect(try await Set(self.keyNumbers(next.sqlite)) == [2])
        await next.store.close()
    }

    @Test func unreadableValueKeepsItsKeyInUse() async throws {
        try await self.fixture.fillSealed()
        try await fixture.sqlite.writer.write { db in
            try db.execute(sql: "update account set name = (select handle from device where number = 1) where id = 1")
        }
        _ = try await fixture.store.replaceKeyring(Keyring(text: self.both), now: fixture.now)
        let result = try await fixture.store.rewrap()
        #expect(result?.unreadable == 1)
        #expect(result?.unused == [])
        #expect(try SQLiteDatabase(path: fixture.sqlite.path).dataKeys().map(\.number) == [1, 2])
    }

    @Test func encryptionsAreCounted() async throws {
        try await self.fixture.fillSealed()
        try await fixture.store.writeSealCounts()
        try await fixture.store.writeSealCounts()
        // The key has encrypted the secret and the values of `fillSealed`, and nothing else.
        let seals = try SQLiteDatabase(path: fixture.sqlite.path).dataKeys().map(\.seals)
        #expect(seals == [Self.count])
    }
}
