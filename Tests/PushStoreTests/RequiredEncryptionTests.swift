import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Users who may get only end-to-end encrypted payloads. The store refuses unencrypted payloads
/// for these users.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct RequiredEncryptionTests {
    private let fixture: StoreFixture
    private let paul: User
    private let alice: User
    private let bob: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.paul = try await self.fixture.addUser("paul", role: .publisher)
        self.alice = try await self.fixture.addUser("alice")
        self.bob = try await self.fixture.addUser("bob")
        for user in [self.alice, self.bob] {
            try await self.fixture.addDevice(of: user, handle: "\(user.name)", tags: ["news"])
        }
        try await self.require(true)
    }

    private func require(_ isRequired: Bool) async throws {
        let now = self.fixture.now
        let change = try await self.fixture.store.changeUser(self.alice.name, requiresEncryption: isRequired, now: now)
        #expect(change == .done)
        let entry = try await self.fixture.reader.userEntry(named: self.alice.name)
        #expect(entry?.requiresEncryption == isRequired)
        #expect(try await self.fixture.reader.userEntry(named: self.bob.name)?.requiresEncryption == false)
    }

    private func listed(by user: User) async throws -> [Int64] {
        try await self.fixture.reader.notifications(
            ChangeRange(after: nil, limit: 100, isUnreadOnly: false),
            for: user.id,
            now: self.fixture.now
        ) { _ in false }.entries.map(\.id.rawValue)
    }

    private func expand() async throws {
        while try await self.fixture.store.expandFanout(page: 1, now: self.fixture.now) != nil {}
    }

    private func handles() async throws -> [String] { try await self.fixture.lease().map(\.push.handle).sorted() }

    @Test func aClearPayloadThatNamesTheUserIsRefused() async throws {
        let refused = PostOutcome.encryptionRequired(self.alice.name)
        #expect(try await self.fixture.post(1, from: self.paul, to: "username:alice") == refused)
        #expect(try await self.fixture.post(2, from: self.paul, to: "username:bob", "username:ALICE") == refused)
        let later = self.fixture.now + 60
        #expect(try await self.fixture.post(3, from: self.paul, to: "username:alice", sendAt: later) == refused)
        #expect(try await self.fixture.post(4, from: self.paul, to: "username:alice", isReadOnce: true) == refused)
        // The requirement also holds for notifications that a user posts to themselves.
        #expect(try await self.fixture.post(5, from: self.alice, to: "username:alice") == refused)
        for number in 1...5 {
            let id = try #require(NotificationID(rawValue: Int64(number)))
            #expect(try await !self.fixture.reader.isThere(id, from: nil, now: self.fixture.now))
        }
        #expect(try await self.handles() == [])
        let own = try await self.fixture.post(6, from: self.paul, to: "username:alice", isEndToEnd: true)
        #expect(own == .stored(Reach(recipients: 1, pushes: 1)))
        try await self.fixture.post(8, from: self.paul, to: "username:bob")
        for (number, isEndToEnd) in [(6, true), (8, false)] as [(Int64, Bool)] {
            let id = try #require(NotificationID(rawValue: number))
            #expect(try await self.fixture.reader.summary(of: id)?.isEndToEnd == isEndToEnd)
        }
        #expect(try await self.listed(by: self.alice) == [6])
        try await self.require(false)
        #expect(
            try await self.fixture.post(7, from: self.paul, to: "username:alice")
                == .stored(Reach(recipients: 1, pushes: 1))
        )
    }

    /// With a `page` of 1, the broadcast has several pages, and the fan-out must leave out the
    /// user on each of them.
    @Test(arguments: [nil, 1], ["news", "news && username:alice || username:bob && news", "!beta", "topic:x || news"])
    func aClearPayloadForATagLeavesTheUserOut(page: Int?, expression: String) async throws {
        try await self.fixture.post(1, from: self.paul, to: expression, page: page)
        try await self.fixture.post(2, from: self.paul, to: expression, isReadOnce: true, page: page)
        try await self.expand()
        #expect(try await self.handles() == ["bob", "bob"])
        #expect(try await self.listed(by: self.alice) == [])
        #expect(try await self.listed(by: self.bob) == [1, 2])
        try await self.fixture.post(3, from: self.paul, to: expression, isEndToEnd: true, page: page)
        try await self.expand()
        #expect(try await self.handles() == ["alice", "bob"])
        #expect(try await self.listed(by: self.alice) == [3])
    }

    @Test func aTagThatTheUserWasGivenLeavesTheUserOut() async throws {
        for user in [self.alice, self.bob] {
            #expect(try await self.fixture.store.setTags([#require(Tag("role:nurse"))], ofUser: user.name, by: nil))
        }
        try await self.fixture.post(1, from: self.paul, to: "role:nurse")
        #expect(try await self.listed(by: self.alice) == [])
        #expect(try await self.listed(by: self.bob) == [1])
    }

    @Test func aReleaseLeavesOutAUserWhoRequiresEncryptionSinceThePost() async throws {
        try await self.require(false)
        let later = self.fixture.now + 60
        try await self.fixture.post(1, from: self.paul, to: "username:alice", "username:bob", sendAt: later)
        try await self.fixture.post(2, from: self.paul, to: "news", sendAt: later)
        try await self.fixture.post(3, from: self.paul, to: "username:alice", isEndToEnd: true, sendAt: later)
        try await self.require(true)
        self.fixture.clock.advance(by: 60)
        #expect(try await self.fixture.store.releaseScheduled(limit: nil, now: self.fixture.now).sent.count == 3)
        #expect(try await self.listed(by: self.alice) == [3])
        #expect(try await self.listed(by: self.bob) == [1, 2])
        #expect(try await self.handles() == ["alice", "bob", "bob"])
    }

    /// A test push is allowed without encryption, because its text is constant and contains
    /// nothing secret.
    @Test func aTestOfADeviceReachesIt() async throws {
        let device = try #require(try await self.fixture.reader.devices(ofUser: self.alice.id).first)
        let id = try #require(NotificationID(rawValue: 1))
        try await self.fixture.post(id, from: self.paul, to: Audience(device: device.id, ofUser: self.alice.id))
        #expect(try await self.handles() == ["alice"])
    }
}
