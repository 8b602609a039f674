import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The audit, which records who has changed what.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct AuditStoreTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private var store: any Store { self.fixture.store }

    private func fault() async throws -> Int64? {
        try await self.fixture.reader.auditFault()
    }

    @Test func entriesComeBackAsTheyWereWritten() async throws {
        try await self.fixture.addUsersWithRecords(2)
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(entries.map(\.number) == [2, 1])
        #expect(entries.map(\.subject) == ["canary1", "canary0"])
        #expect(entries.map(\.actor) == ["user1", "user0"])
        #expect(entries.map(\.client) == ["192.0.2.1", "192.0.2.1"])
        #expect(entries.map(\.at) == [self.fixture.now, self.fixture.now])
        #expect(try await self.fault() == nil)
    }

    @Test func failedActionIsNotRecorded() async throws {
        try await self.fixture.addUsersWithRecords(1)
        let name = try #require(Username("USER0"))
        let record = AuditRecord(.addUser, of: "canary", at: self.fixture.now)
        let hash = PasswordHash(phc: "none")
        #expect(try await !self.store.addUser(name, role: .device, password: hash, by: record, now: self.fixture.now))
        #expect(try await self.fixture.reader.lastAuditNumber() == 1)
    }

    @Test func actionsOutsideTheStoreAreRecorded() async throws {
        try await self.fixture.addUsersWithRecords(1)
        try await self.store.record(AuditRecord(.rotateKeys, of: "key 2", at: self.fixture.now))
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 1)
        #expect(entries.map { "\($0.number) \($0.action) \($0.subject)" } == ["2 keys.rotate key 2"])
        #expect(try await self.fault() == nil)
    }

    @Test func postsOfOneTransactionShareAnEntry() async throws {
        let alice = try await self.fixture.addUser("alice", role: .publisher)
        let before = try await self.fixture.reader.lastAuditNumber()
        let record = AuditRecord(.send, of: "", at: self.fixture.now)
        let posts = try (1...3 as ClosedRange<Int64>).map { number in
            let id = try #require(NotificationID(rawValue: number))
            return NewNotification(
                id: id,
                sender: alice.id,
                sealedPayload: try self.store.vault.seal(Data("{}".utf8), in: .payload(id, sender: alice.id)),
                audience: self.store.hashed(Audience([try TagExpression("username:alice")])),
                createdAt: self.fixture.now,
                expiresAt: self.fixture.now + 3600,
                by: record.another(.send, of: "canary\(number)", detail: "")
            )
        }
        _ = try await self.store.post(PostRequest(posts))
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 1)
        #expect(entries.map(\.subject) == ["canary1 canary2 canary3"])
        #expect(try await self.fixture.reader.lastAuditNumber() == before + 1)
        #expect(try await self.fault() == nil)
    }

    @Test func auditIsEncryptedOnDisk() async throws {
        try await self.fixture.addUsersWithRecords(3)
        let bytes = try self.fixture.bytesAtRest().reduce(into: Data()) { $0.append($1) }
        #expect(bytes.count > 10_000)
        #expect(bytes.range(of: Data("canary".utf8)) == nil)
    }

    @Test func oldestEntriesAreDeletedAndTheChainContinues() async throws {
        try await self.fixture.addUsersWithRecords(3)
        self.fixture.clock.advance(by: 100)
        let start = self.fixture.now
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 2)
        #expect(try await self.fault() == nil)
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 1)
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 0)
        #expect(try await self.fault() == nil)
        let name = try #require(Username("bob"))
        let actor = AuditRecord.Actor(name: nil, token: nil, client: "unix", request: "")
        let record = AuditRecord(.addUser, of: "bob", by: actor, at: self.fixture.now)
        let hash = PasswordHash(phc: "none")
        #expect(try await self.store.addUser(name, role: .device, password: hash, by: record, now: self.fixture.now))
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(entries.map(\.number) == [4])
        #expect(entries.map(\.actor) == [""])
        #expect(try await self.fault() == nil)
        #expect(try await self.store.trimAudit(before: start, limit: 2) == 0)
    }
}
