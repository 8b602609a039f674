import Foundation
import Logging
import PushCore
import PushDelivery
import PushStore
import PushTesting
import Synchronization
import Testing

/// The service stores looks (pushes that tell a device to sync): for the changes that a `LookBook`
/// has collected, and for recalls.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct LookServiceTests {
    private let book = LookBook()
    private let fixture: StoreFixture
    private let service: LookService

    init() async throws {
        self.fixture = try StoreFixture(options: Self.options)
        self.service = Self.service(of: self.fixture, self.book)
    }

    private static var options: StoreOptions {
        var options = StoreOptions()
        options.looks = ["apns": .seconds(10)]
        return options
    }

    private static func service(
        of fixture: StoreFixture,
        _ book: LookBook = LookBook(),
        workIsWaiting: @escaping @Sendable () -> Void = {}
    ) -> LookService {
        LookService(
            store: fixture.store,
            book: book,
            makeID: { NotificationID(rawValue: .random(in: 1..<1 << 31)) },
            workIsWaiting: workIsWaiting,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            now: { fixture.now }
        )
    }

    private func looks(in fixture: StoreFixture? = nil) async throws -> [LeasedDelivery] {
        let (request, fixture) = (LeaseRequest(1000, from: Lane(stored: "apns/look"), .direct), fixture ?? self.fixture)
        return try await fixture.store.lease(request, now: fixture.now)
    }

    /// Posts a notification to alice's device, and recalls it; this server then crashes before its
    /// `LookService` stores the push that makes the device remove the notification. Returns
    /// another server on the same store.
    private func recallBeforeACrash() async throws -> StoreFixture {
        let alice = try await self.fixture.addUser("alice", role: .publisher)
        try await self.fixture.addDevice(of: alice, handle: "one")
        try await self.fixture.post(1, from: alice, to: "username:alice")
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await self.fixture.store.recall(id, by: .sender(alice.id), now: self.fixture.now))
        await self.fixture.store.close()
        return try self.fixture.reopened(options: Self.options)
    }

    @Test func theNextStartWritesTheLooksOfARecallOnce() async throws {
        let next = try await self.recallBeforeACrash()
        try await withThrowingTaskGroup { group in
            group.addTask { try await Self.service(of: next).run() }
            try await eventually { try await next.reader.tallies()["apns/look"]?.pending == 1 }
            group.cancelAll()
            try await group.waitForAll()
        }
        await Self.service(of: next).write()
        #expect(try await next.reader.tallies()["apns/look"]?.enqueued == 1)
        #expect(try await self.looks(in: next).map(\.push.handle) == ["one"])
        await next.store.close()
    }

    /// The service of each server does this once a minute, even without a change of its own.
    @Test func anotherServerWritesTheLooksOfARecallOnce() async throws {
        let other = try await self.recallBeforeACrash()
        for _ in 0..<2 { await Self.service(of: other).write() }
        #expect(try await other.reader.tallies()["apns/look"]?.enqueued == 1)
        let looks = try await self.looks(in: other)
        #expect(looks.map(\.push.handle) == ["one"] && looks.first?.push.priority == .high)
        await other.store.close()
    }

    /// There are more recipients than the service handles in one transaction.
    @Test func allRecipientsOfARecallWhoHaveNotDismissedItLookAtOnce() async throws {
        let paul = try await self.fixture.addUser("paul", role: .publisher)
        for number in 1...205 {
            let user = try await self.fixture.addUser("user\(number)")
            try await self.fixture.addDevice(of: user, handle: "device\(number)", tags: ["all"])
        }
        try await self.fixture.post(1, from: paul, to: "all")
        let id = try #require(NotificationID(rawValue: 1))
        let user = try await self.fixture.user("user7")
        let (store, now) = (self.fixture.store, self.fixture.now)
        _ = try await store.dismiss(id, by: user.id, ifStill: nil, recording: nil, now: now)
        #expect(try await store.recall(id, by: .sender(paul.id), now: now))
        await self.service.write()
        let looks = try await self.looks()
        #expect(Set(looks.map(\.push.handle)) == Set((1...205).map { "device\($0)" }).subtracting(["device7"]))
        #expect(looks.allSatisfy { $0.push.priority == .high })
        // A provider must not learn which devices sync because of the same notification, so the
        // pushes have different ids.
        #expect(Set(looks.map(\.push.notification)).count == 204)
        #expect(Set(looks.map(\.push.collapseID)).count == 204)
    }

    /// A recall from very many users must not delay the looks for other changes until its end.
    @Test func changesTakeTurnsWithThePagesOfRecalls() async throws {
        let alice = try await self.fixture.addUser("alice", role: .publisher)
        try await self.fixture.addDevice(of: alice, handle: "one")
        for number: Int64 in 1...60 {
            try await self.fixture.post(number, from: alice, to: "username:alice")
            let id = try #require(NotificationID(rawValue: number))
            #expect(try await self.fixture.store.recall(id, by: .sender(alice.id), now: self.fixture.now))
        }
        await self.service.write()
        // The service continues at once, after the changes that were recorded meanwhile.
        await self.book.signal.wait(atMost: .seconds(3600))
        var remaining = 0
        let makeID = { @Sendable in NotificationID(rawValue: .random(in: 1..<1 << 31)) }
        while try await self.fixture.store.enqueueRecallLooks(page: 100, makeID: makeID, now: self.fixture.now) != nil {
            remaining += 1
        }
        #expect(remaining == 10)
    }

    /// If the lanes (queues of pushes) were woken after the first of several recalls, they might
    /// send the look for it at once, and a second look a second later.
    @Test func aBurstOfRecallsWakesTheLanesOnce() async throws {
        for number: Int64 in 1...3 {
            let user = try await self.fixture.addUser("user\(number)", role: .publisher)
            try await self.fixture.addDevice(of: user, handle: "device\(number)")
            try await self.fixture.post(number, from: user, to: "username:user\(number)")
            let id = try #require(NotificationID(rawValue: number))
            #expect(try await self.fixture.store.recall(id, by: .sender(user.id), now: self.fixture.now))
        }
        let wakeUps = Atomic(0)
        await Self.service(of: self.fixture) { wakeUps.wrappingAdd(1, ordering: .relaxed) }.write()
        #expect(wakeUps.load(ordering: .relaxed) == 1)
        #expect(try await self.looks().count == 3)
    }

    @Test func aSyncAfterTheChangeCancelsItsLook() async throws {
        let alice = try await self.fixture.addUser("alice")
        let now = self.fixture.now
        let session = try await self.fixture.store.addSession(
            for: alice,
            scopes: .all,
            expiresAt: now + 1000,
            now: now
        )
        let prefix = try #require(session).token.prefix
        let id = try await self.fixture.store.requestRegistration(ofUser: alice.id, handle: nil, now: now)
        let registration = DeviceRegistration(
            platform: Platform("apns"),
            lane: Lane(Platform("apns")),
            handle: try #require(DeviceHandle("one")),
            tags: []
        )
        _ = try await self.fixture.store.register(registration, as: id, for: alice, with: prefix, now: now)
        self.book.record(LookOrder(user: alice.id, app: .usual))
        self.book.record(LookSync(user: alice.id, app: .usual, session: prefix.description, change: .max))
        await self.service.write()
        self.fixture.clock.advance(by: 10)
        #expect(try await self.looks().isEmpty)
        let tally = try await self.fixture.reader.tallies()["apns/look"]
        #expect(tally?.cancelled == 1 && tally?.pending == 0)
    }
}
