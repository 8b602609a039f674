import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The fan-out of broadcasts: the store finds the devices for a tag page by page.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct FanoutTests {
    private let fixture: StoreFixture
    private var store: any Store { self.fixture.store }
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    /// Adds devices with the handles `d-0`, `d-1` and so on. Each device has its own user, and the
    /// tags that `tags` returns for its number.
    private func addDevices(_ count: Int, tags: (Int) -> [String]) async throws {
        for number in 0..<count {
            let user = try await fixture.addUser("user\(number)")
            try await fixture.addDevice(of: user, handle: "d-\(number)", tags: tags(number))
        }
    }

    private func expand() async throws {
        while try await store.expandFanout(page: 3, now: fixture.now) != nil {}
    }

    private func handles() async throws -> [String] {
        try await fixture.lease().map(\.push.handle).sorted()
    }

    private func tally() async throws -> Tally? {
        try await fixture.reader.tallies()["apns"]
    }

    @Test(arguments: [
        ("news", Array(0..<10)), ("news && !beta", [1, 3, 5, 7, 9]), ("!beta", [1, 3, 5, 7, 9]),
        ("beta || third", [0, 2, 3, 4, 6, 8, 9]), ("beta && third", [0, 6]), ("username:user4", [4]),
        ("news && (username:user1 || username:user2)", [1, 2]), ("absent", []), ("!news", []),
        ("!!third", [0, 3, 6, 9]), ("third || !beta", [0, 1, 3, 5, 6, 7, 9]),
    ])
    func everyMatchingDeviceGetsOnePushAcrossPages(expression: String, expected: [Int]) async throws {
        try await self.addDevices(10) { number in
            ["news"] + (number.isMultiple(of: 2) ? ["beta"] : []) + (number.isMultiple(of: 3) ? ["third"] : [])
        }
        try await fixture.post(1, from: alice, to: expression, page: 3)
        try await self.expand()
        #expect(try await self.handles() == expected.map { "d-\($0)" })
        #expect(try await self.tally()?.enqueued ?? 0 == expected.count)
        let id = try #require(NotificationID(rawValue: 1))
        for number in 0..<10 {
            let user = try await fixture.user("user\(number)")
            let found = try await fixture.reader.notification(id, for: user.id, alsoAsSender: false, now: fixture.now)
            #expect((found != nil) == expected.contains(number))
        }
    }

    @Test func postEnqueuesTheFirstPageAndTheOthersFollow() async throws {
        try await self.addDevices(8) { _ in ["news"] }
        let firstPage = Reach(recipients: 3, pushes: 3, isComplete: false)
        #expect(try await fixture.post(1, from: alice, to: "news", page: 3) == .stored(firstPage))
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await fixture.reader.isFanningOut(id))
        #expect(try await store.expandFanout(page: 3, now: fixture.now) == 3)
        #expect(try await fixture.reader.isFanningOut(id))
        #expect(try await store.expandFanout(page: 3, now: fixture.now) == 2)
        #expect(try await store.expandFanout(page: 3, now: fixture.now) == nil)
        #expect(try await !fixture.reader.isFanningOut(id))
    }

    @Test func fanoutContinuesAfterARestart() async throws {
        try await self.addDevices(8) { _ in ["news"] }
        try await fixture.post(1, from: alice, to: "news", platforms: ["apns"], page: 3)
        _ = try await store.expandFanout(page: 3, now: fixture.now)
        await store.close()
        let next = try fixture.reopened()
        while try await next.store.expandFanout(page: 3, now: fixture.now) != nil {}
        #expect(try await next.reader.tallies()["apns"]?.enqueued == 8)
        await next.store.close()
    }

    @Test func singleNotificationPassesABroadcast() async throws {
        try await self.addDevices(8) { _ in ["news"] }
        try await fixture.post(1, from: alice, to: "news", page: 3)
        try await self.expand()
        fixture.clock.advance(by: 5)
        try await fixture.post(2, from: alice, to: "username:user5", page: 3)
        #expect(try await fixture.lease(limit: 1).map(\.push.notification.rawValue) == [2])
    }

    @Test func expiredBroadcastReachesNoFurtherDevices() async throws {
        try await self.addDevices(8) { _ in ["news"] }
        try await fixture.post(1, from: alice, to: "news", expiresIn: 60, page: 3)
        fixture.clock.advance(by: 60)
        try await self.expand()
        #expect(try await self.tally()?.enqueued == 3)
        #expect(try await self.handles().isEmpty)
        #expect(try await self.tally()?.expired == 3)
    }

    @Test func newerBroadcastReplacesAnOlderOneOfTheSameKey() async throws {
        try await self.addDevices(8) { _ in ["news"] }
        try await fixture.post(1, from: alice, to: "news", collapseID: "key", page: 3)
        fixture.clock.advance(by: 1)
        try await fixture.post(2, from: alice, to: "news", collapseID: "key", page: 3)
        // The store completes the older broadcast first.
        try await self.expand()
        let leased = try await fixture.lease()
        #expect(leased.map(\.push.notification.rawValue) == Array(repeating: 2, count: 8))
        let tally = try await #require(try self.tally())
        #expect(tally.pending == 8)
        #expect(tally.enqueued == tally.cancelled + 8)
    }

    @Test func dismissedBroadcastIsNotPushedToLaterDevices() async throws {
        for number in 0..<5 { try await fixture.addDevice(of: alice, handle: "a-\(number)", tags: ["news"]) }
        try await fixture.post(1, from: alice, to: "news", page: 3)
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await store.dismiss(id, by: alice.id, now: fixture.now))
        try await self.expand()
        #expect(try await self.handles().isEmpty)
        #expect(try await self.tally()?.enqueued == 3)
        #expect(try await self.tally()?.cancelled == 3)
    }
}
