import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// Rows that are changed without the store: by the disk, or by somebody who has the file.
@Suite(.timeLimit(.minutes(5))) struct RowMACTests {
    private let fixture: StoreFixture
    private let alice: User
    private let mallory: User
    private let id: NotificationID

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice", role: .publisher)
        self.mallory = try await self.fixture.addUser("mallory", role: .publisher)
        self.id = try #require(NotificationID(rawValue: 7))
    }

    private func execute(_ sql: String) async throws {
        try await self.fixture.sqlite.writer.write { try $0.execute(sql: sql) }
    }

    private func fetch(by user: User) async throws -> StoredNotification? {
        try await self.fixture.reader.notification(self.id, for: user.id, alsoAsSender: false, now: self.fixture.now)
    }

    @Test(arguments: [["username:alice"], ["news"], ["news", "username:alice"]])
    func recipientFetchesItsNotification(to: [String]) async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "aa", tags: ["news"])
        try await self.fixture.post(7, from: self.mallory, to: to[0], to.last ?? "")
        #expect(try await self.fetch(by: self.alice) != nil)
    }

    @Test(arguments: [
        "update recipient set user_id = %d",
        "insert into recipient (notification_id, user_id, change, changed_at, mac) values (7, %d, 1, 0, 0)",
        "insert into recipient select 7, %d, null, null, null, 1, 0, mac from recipient where notification_id = 7",
        "update recipient set notification_id = 7, user_id = %d where notification_id = 8",
    ])
    func forgedRecipientFetchesNothing(sql: String) async throws {
        try await self.fixture.post(7, from: self.alice, to: "username:alice")
        try await self.fixture.post(8, from: self.alice, to: "username:mallory")
        try await self.execute(String(format: sql, self.mallory.id))
        await #expect(throws: StoreError.self) { try await self.fetch(by: self.mallory) }
        for start in [nil, 0] as [Int64?] {
            let range = ChangeRange(after: start, limit: 10, isUnreadOnly: false)
            await #expect(throws: StoreError.self) {
                try await self.fixture.reader.notifications(range, for: self.mallory.id, now: self.fixture.now) { _ in
                    true
                }
            }
        }
        await #expect(throws: StoreError.self) {
            try await self.fixture.reader.notifications([self.id], for: self.mallory.id, now: self.fixture.now) { _ in
                true
            }
        }
    }

    @Test func tokenRowMovedToAnotherUserIsRefused() async throws {
        let token = try await self.addToken()
        let reader = self.fixture.reader
        #expect(try await reader.user(withToken: token, now: self.fixture.now)?.user == self.mallory)
        try await self.execute("update token set user_id = \(self.alice.id)")
        await #expect(throws: StoreError.self) { try await reader.user(withToken: token, now: self.fixture.now) }
    }

    /// Adds a token of mallory. Returns its fingerprint.
    private func addToken() async throws -> Fingerprint {
        let session = try await self.fixture.store.addSession(
            for: self.mallory,
            scopes: .fetch,
            expiresAt: self.fixture.now + 100,
            now: self.fixture.now
        )
        return try #require(session?.token.fingerprint)
    }

    @Test func indexThatLeadsToAnotherUserIsDetected() async throws {
        try await self.execute(
            """
            create table key as select name_key from account where id = \(self.alice.id);
            update account set name_key = randomblob(16) where id = \(self.alice.id);
            update account set name_key = (select name_key from key) where id = \(self.mallory.id);
            """
        )
        await #expect(throws: StoreError.self) { try await self.fixture.reader.user(named: self.alice.name) }
    }

    @Test func numberOfADeletedUserIsNotReused() async throws {
        #expect(try await self.fixture.store.deleteUser(self.mallory.name) == .done)
        #expect(try await self.fixture.addUser("bob").id > self.mallory.id)
    }
}
