import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The rows that the store writes and keeps, and the values in memory after a failed write.
@Suite(.timeLimit(.minutes(5))) struct RowWriteTests {
    private let fixture: StoreFixture
    private let alice: User
    private let device: RegistrationID

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, handle: "a1")
    }

    private func addToken() async throws -> BearerToken {
        let token = try await self.fixture.store.addToken(
            for: self.alice.name,
            scopes: .fetch,
            expiresAt: self.fixture.now + 1000,
            now: self.fixture.now
        )
        return try #require(token)
    }

    /// The number of rows that the writer has changed so far.
    private func totalChanges() async throws -> Int {
        try await fixture.sqlite.writer.write { try Int.fetchOne($0, sql: "select total_changes()") ?? 0 }
    }

    /// Registering again with sixty tags must not write sixty rows each time.
    @Test func unchangedTagsAreNotWrittenAgain() async throws {
        let tags = { (count: Int) in Set((0..<count).compactMap { PushCore.Tag("t\($0)") }) }
        var counts: [Int] = []
        for count in [50, 50, 51, 49] {
            let before = try await self.totalChanges()
            let registration = DeviceRegistration(
                platform: Platform("apns"),
                lane: Lane(Platform("apns")),
                handle: try #require(DeviceHandle("a1")),
                tags: tags(count)
            )
            let outcome = try await fixture.store.register(registration, as: device, for: alice, now: fixture.now)
            #expect(outcome == .registered(moved: 0))
            counts.append(try await self.totalChanges() - before)
        }
        let rest = counts[1]
        #expect(rest < 10)
        #expect(counts == [rest + 50, rest, rest + 1, rest + 2])
        let found = try await fixture.reader.devices(ofUser: alice.id).first?.tags
        #expect(found?.count == 50, "and the user's own")
    }

    /// The store must find the newest notification with a collapse key in one row, without reading
    /// older notifications.
    @Test func collapseKeyHasOneRowUntilItsNotificationExpires() async throws {
        for number in Int64(1)...5 {
            try await fixture.post(number, from: alice, to: "username:alice", collapseID: "inbox")
            fixture.clock.advance(by: 1)
        }
        func rows() async throws -> [Int64] {
            try await fixture.sqlite.writer.write {
                try Int64.fetchAll($0, sql: "select notification_id from collapse")
            }
        }
        #expect(try await rows() == [5])
        fixture.clock.advance(by: 4000)
        while try await fixture.store.deleteExpired(now: fixture.now, page: 2) {}
        #expect(try await rows() == [])
    }

    @Test func pushAcceptedAfterItsDeviceWasDeletedLeavesNoRow() async throws {
        try await fixture.post(1, from: alice, to: "username:alice")
        let leased = try #require(try await fixture.lease().first)
        #expect(try await fixture.store.unregister(device, ofUser: alice.id))
        try await fixture.settle(leased, as: .accepted(providerID: nil))
        let rows = try await fixture.sqlite.writer.write {
            try Int.fetchOne($0, sql: "select count(*) from device_push")
        }
        #expect(rows == 0)
        #expect(try await fixture.reader.tallies()["apns"]?.cancelled == 1)
    }

    @Test func unwrittenTokenUsesAreKept() async throws {
        let store = self.fixture.sqlite
        let (token, other) = (try await self.addToken().prefix, try await self.addToken().prefix)
        store.tokenUses.record(token, now: self.fixture.now)
        store.tokenUses.record(other, now: self.fixture.now)
        await store.close()
        await #expect(throws: StoreError.self) { try await store.writeTokenUses(limit: 1) }
        store.tokenUses.giveBack([(token, .distantPast)])
        let kept = Dictionary(uniqueKeysWithValues: store.tokenUses.take(10).map { ($0.token, $0.at) })
        #expect(kept == [token: self.fixture.now, other: self.fixture.now])
    }
}
