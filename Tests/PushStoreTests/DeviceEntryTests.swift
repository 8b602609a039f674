import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@Suite(.eachStore, .timeLimit(.minutes(5))) struct DeviceEntryTests {
    private let fixture: StoreFixture

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func entries(_ user: String? = nil, after last: DevicePlace? = nil, limit: Int = 100) async throws
        -> [DeviceEntry]
    {
        let name = try user.map { try #require(Username($0)) }
        return try await self.fixture.reader.deviceEntries(of: name, after: last, limit: limit)
    }

    @Test func anEntryHasAllThatIsStored() async throws {
        let alice = try await self.fixture.addUser("alice")
        let id = try await self.fixture.addDevice(of: alice, handle: "h1", tags: ["News"])
        let entry = try #require(try await self.entries().first)
        #expect(entry.id == id)
        #expect(entry.username == alice.name)
        guard case .registered(let platform, _, let handle, let tags) = entry.state else {
            Issue.record("\(entry.state)")
            return
        }
        #expect((platform.description, handle.value) == ("apns", "h1"))
        #expect(tags.map(\.description) == ["news", "username:alice"])
        #expect((entry.createdAt, entry.registeredAt) == (self.fixture.now, self.fixture.now))
        #expect(entry.pushedAt == nil)
    }

    /// The time of the last fetch is the same for all devices of a user. The store reads this time
    /// only from the user's latest notifications, because a user may have very many notifications.
    @Test func theUsersLastFetchIsThatOfTheLatestNotifications() async throws {
        let alice = try await self.fixture.addUser("alice")
        for handle in ["a1", "a2"] { try await self.fixture.addDevice(of: alice, handle: handle) }
        try await self.fixture.addDevice(of: self.fixture.addUser("bob"), handle: "b1")
        for number in 1...3 as ClosedRange<Int64> {
            try await self.fixture.post(number, from: alice, to: "username:alice")
        }
        #expect(try await self.entries().map(\.fetchedAt) == [nil, nil, nil])
        self.fixture.clock.advance(by: 60)
        for number in [2, 1] as [Int64] {
            let id = try #require(NotificationID(rawValue: number))
            self.fixture.store.recordFetch(of: id, by: alice.id, now: self.fixture.now - (number == 1 ? 30 : 0))
        }
        try await self.fixture.store.writeReceipts()
        let (fetched, none): (Date?, Date?) = (self.fixture.now, nil)
        #expect(try await self.entries().map(\.fetchedAt) == [fetched, fetched, none])
        #expect(try await self.entries("alice").map(\.fetchedAt) == [fetched, fetched])
        for number in 4...3 + Int64(DeviceEntry.countedForFetch) {
            try await self.fixture.post(number, from: alice, to: "username:alice")
        }
        #expect(try await self.entries().map(\.fetchedAt) == [none, none, none])
    }

    @Test func aUserHasTheLastPushAndFetchOfAll() async throws {
        let alice = try await self.fixture.addUser("alice")
        for handle in ["a1", "a2"] { try await self.fixture.addDevice(of: alice, handle: handle) }
        _ = try await self.fixture.addUser("bob")
        try await self.fixture.post(1, from: alice, to: "username:alice")
        func times() async throws -> [String: [Date?]] {
            let users = try await self.fixture.reader.users(after: nil, limit: 10)
            return Dictionary(uniqueKeysWithValues: users.map { ($0.name.description, [$0.pushedAt, $0.fetchedAt]) })
        }
        #expect(try await times() == ["alice": [nil, nil], "bob": [nil, nil]])
        let leased = try await self.fixture.lease()
        #expect(leased.count == 2)
        for delivery in leased {
            self.fixture.clock.advance(by: 1)
            try await self.fixture.settle(delivery, as: .accepted(providerID: nil))
        }
        let pushed = self.fixture.now
        self.fixture.clock.advance(by: 60)
        let id = try #require(NotificationID(rawValue: 1))
        self.fixture.store.recordFetch(of: id, by: alice.id, now: self.fixture.now)
        try await self.fixture.store.writeReceipts()
        #expect(try await times() == ["alice": [pushed, self.fixture.now], "bob": [nil, nil]])
        let one = try await self.fixture.reader.userEntry(named: alice.name)
        #expect(one?.pushedAt == pushed && one?.fetchedAt == self.fixture.now)
        // For a user with very many devices, the store reads the time of the last push only from
        // the newest devices.
        for number in 1...UserEntry.countedForPush {
            try await self.fixture.addDevice(of: alice, handle: "b\(number)")
        }
        #expect(try await times()["alice"] == [nil, self.fixture.now])
    }

    /// Some devices registered in the same millisecond, and some after the clock was set back.
    @Test(arguments: [1, 2, 3, 7])
    func pagesOfAUserNeitherRepeatNorMissADevice(limit: Int) async throws {
        let alice = try await self.fixture.addUser("alice")
        let bob = try await self.fixture.addUser("bob")
        for (number, step) in [0, 0, 1, -2, 0, 5, 0].enumerated() {
            self.fixture.clock.advance(by: TimeInterval(step))
            try await self.fixture.addDevice(of: alice, handle: "a\(number)")
            try await self.fixture.addDevice(of: bob, handle: "b\(number)")
        }
        for (user, count) in [(nil, 14), ("alice", 7), ("Bob", 7), ("nobody", 0)] {
            let whole = try await self.entries(user)
            #expect(whole.count == count)
            #expect(Set(whole.map(\.id)).count == count)
            var (pages, last): ([DeviceEntry], DevicePlace?) = ([], nil)
            for _ in 0...count {
                let page = try await self.entries(user, after: last, limit: limit)
                #expect(page.count <= limit)
                pages += page
                guard let place = page.last?.place else { break }
                last = place
            }
            #expect(pages == whole)
        }
    }

    @Test func aDeletedDeviceIsAuditedWithItsOwner() async throws {
        let alice = try await self.fixture.addUser("alice")
        let ada = try #require(Username("ada"))
        let id = try await self.fixture.addDevice(of: alice, handle: "h1")
        let actor = AuditRecord.Actor(name: ada, token: nil, client: "unknown", request: "r")
        let record = AuditRecord(.unregisterDevice, of: id.description, by: actor, at: self.fixture.now)
        #expect(try await self.fixture.store.deleteDevice(id, by: record))
        #expect(try await !self.fixture.store.deleteDevice(id, by: record))
        let entries = try await self.fixture.reader.auditEntries(before: nil, limit: 10)
        #expect(entries.map { "\($0.actor) \($0.action) \($0.detail)" } == ["ada device.unregister of alice"])
    }
}
