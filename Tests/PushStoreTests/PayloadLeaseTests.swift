import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The first fetch leases a read-once payload, and the store deletes the payload when the lease
/// ends.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct PayloadLeaseTests {
    private let fixture: StoreFixture
    private let alice: User
    private let bob: User
    private let id: NotificationID
    private var store: any Store { self.fixture.store }

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.bob = try await self.fixture.addUser("bob")
        self.id = try #require(NotificationID(rawValue: 7))
    }

    private func postToAlice(isReadOnce: Bool = true, expiresIn: TimeInterval = 3600) async throws {
        try await self.fixture.post(
            7,
            from: self.bob,
            to: "username:alice",
            isReadOnce: isReadOnce,
            expiresIn: expiresIn
        )
    }

    private func postToBoth() async throws {
        try await self.fixture.post(7, from: self.bob, to: "username:alice", "username:bob", isReadOnce: true)
    }

    private func fetch(as user: User? = nil, in fixture: StoreFixture? = nil) async throws -> StoredNotification? {
        let fixture = fixture ?? self.fixture
        return try await fixture.reader.notification(
            self.id,
            for: (user ?? self.alice).id,
            alsoAsSender: false,
            now: fixture.now
        )
    }

    private func lease(to user: User? = nil) async throws -> PayloadLease {
        try await self.store.lease(
            self.id,
            to: (user ?? self.alice).id,
            until: self.fixture.now + PayloadLease.length.timeInterval,
            recording: nil,
            now: self.fixture.now
        )
    }

    private func take(as user: User? = nil) async throws -> TakeOutcome {
        try await self.store.take(self.id, by: (user ?? self.alice).id, recording: nil, now: self.fixture.now)
    }

    /// Ends expired leases. Returns the number of seconds until the next lease ends.
    private func endLeases(limit: Int = 10) async throws -> TimeInterval? {
        try await self.store.endLeases(now: self.fixture.now, limit: limit)?.timeIntervalSince(self.fixture.now)
    }

    // MARK: The lease

    @Test func aLeasedPayloadIsThereUntilTheLeaseEnds() async throws {
        try await self.postToAlice()
        #expect(try await self.fetch()?.leasedUntil == nil)
        #expect(try await self.lease() == .granted)
        let end = self.fixture.now + 60
        self.fixture.clock.advance(by: 59.999)
        #expect(try await self.lease() == .held)
        let found = try #require(try await self.fetch())
        #expect(found.leasedUntil == end, "the first fetch decides")
        #expect(found.fetchedAt == end - 60)
        self.fixture.clock.advance(by: 0.001)
        // A lease ends at its time, even if `endLeases` has not processed its end yet.
        #expect(try await self.fetch() == nil)
        #expect(try await self.lease() == .refused)
    }

    @Test func eachRecipientHasALeaseOfItsOwn() async throws {
        try await self.postToBoth()
        #expect(try await self.lease() == .granted)
        self.fixture.clock.advance(by: 30)
        #expect(try await self.lease(to: self.bob) == .granted)
        #expect(try await self.endLeases() == 30)
        self.fixture.clock.advance(by: 30)
        #expect(try await self.fetch() == nil)
        #expect(try await self.fetch(as: self.bob) != nil)
        #expect(try await self.endLeases() == 30)
        #expect(try await self.fetch(as: self.bob) != nil, "the end of one lease is not the end of the other")
        self.fixture.clock.advance(by: 30)
        #expect(try await self.endLeases() == nil)
        #expect(try await self.fetch(as: self.bob) == nil)
    }

    @Test func onlyARecipientGetsALease() async throws {
        try await self.postToAlice()
        #expect(try await self.lease(to: self.bob) == .refused)
        #expect(try await self.endLeases() == nil)
    }

    @Test func ordinaryPayloadIsNotLeased() async throws {
        try await self.postToAlice(isReadOnce: false)
        #expect(try await self.lease() == .refused)
        self.fixture.clock.advance(by: 60)
        #expect(try await self.endLeases() == nil)
        #expect(try await self.fetch() != nil)
    }

    @Test func leasesEndInTheirOrderAndPageByPage() async throws {
        for number in Int64(1)...5 {
            try await self.fixture.post(number, from: self.bob, to: "username:alice", isReadOnce: true)
            let id = try #require(NotificationID(rawValue: number))
            let end = self.fixture.now + 60 + TimeInterval(number)
            let lease = try await self.store.lease(
                id,
                to: self.alice.id,
                until: end,
                recording: nil,
                now: self.fixture.now
            )
            #expect(lease == .granted)
        }
        self.fixture.clock.advance(by: 64)
        #expect(try await self.endLeases(limit: 2) == -1)
        #expect(try await self.endLeases(limit: 2) == 1)
        #expect(try await self.endLeases(limit: 2) == 1)
        self.fixture.clock.advance(by: 1)
        #expect(try await self.endLeases(limit: 2) == nil)
    }

    @Test func leaseSurvivesARestart() async throws {
        try await self.postToAlice()
        #expect(try await self.lease() == .granted)
        let sealed = try #require(try await self.fetch()?.sealedPayload)
        await self.store.close()
        let next = try self.fixture.reopened()
        #expect(try await self.fetch(in: next)?.sealedPayload == sealed)
        next.clock.advance(by: 60)
        #expect(try await self.fetch(in: next) == nil)
        #expect(try await next.store.endLeases(now: next.now, limit: 10) == nil)
        await next.store.close()
        #expect(try self.fixture.remains().range(of: Data(sealed)) == nil)
    }

    // MARK: Its end

    enum End: CaseIterable {
        case taken, over, dismissed, recalled, userDeleted
    }

    /// The store erases the payload when the last recipient's lease ends, whatever ends the lease.
    @Test(arguments: End.allCases) func payloadIsErasedWithTheLastLease(end: End) async throws {
        try await self.postToBoth()
        let sealed = try #require(try await self.fetch()?.sealedPayload)
        #expect(try await self.lease() == .granted)
        #expect(try await self.lease(to: self.bob) == .granted)
        #expect(try await self.take(as: self.bob) == .taken)
        #expect(try await self.fetch() != nil)
        let now = self.fixture.now
        switch end {
        case .taken: #expect(try await self.take() == .taken)
        case .over:
            self.fixture.clock.advance(by: 60)
            #expect(try await self.endLeases() == nil)
        case .dismissed: #expect(try await self.store.dismiss(self.id, by: self.alice.id, now: now))
        case .recalled: #expect(try await self.store.recall(self.id, by: .administrator, now: now))
        case .userDeleted: #expect(try await self.store.deleteUser(self.alice.name) == .done)
        }
        await self.store.close()
        #expect(try self.fixture.remains().range(of: Data(sealed)) == nil)
    }

    @Test func deletedUserDoesNotDelayTheErasure() async throws {
        try await self.postToBoth()
        #expect(try await self.store.take(self.id, by: self.bob.id, now: self.fixture.now))
        let sealed = try #require(try await self.fetch()?.sealedPayload)
        #expect(try await self.store.deleteUser(self.alice.name) == .done)
        await self.store.close()
        #expect(try self.fixture.remains().range(of: Data(sealed)) == nil)
    }

    @Test func payloadExpiresDespiteItsLease() async throws {
        try await self.postToAlice(expiresIn: 30)
        #expect(try await self.lease() == .granted)
        self.fixture.clock.advance(by: 30)
        #expect(try await self.fetch() == nil)
        #expect(try await self.take() == .missing)
        self.fixture.clock.advance(by: 30)
        #expect(try await self.endLeases() == nil)
        while try await self.store.deleteExpired(now: self.fixture.now, page: 10) {}
        #expect(try await self.endLeases() == nil)
    }

    @Test func endOfALeaseDoesNotChangeARecalledNotification() async throws {
        try await self.postToAlice()
        #expect(try await self.lease() == .granted)
        #expect(try await self.store.recall(self.id, by: .administrator, now: self.fixture.now))
        #expect(try await self.changes() == [-7])
        let recalled = try await self.fixture.reader.newestChange(ofUser: self.alice.id)
        self.fixture.clock.advance(by: 60)
        #expect(try await self.endLeases() == nil)
        #expect(try await self.changes(after: recalled) == [])
    }

    @Test func aListChangesWhenTheLeaseEndsAndNotBefore() async throws {
        try await self.postToAlice()
        let start = try await self.fixture.reader.newestChange(ofUser: self.alice.id)
        #expect(try await self.lease() == .granted)
        #expect(try await self.changes(after: start) == [])
        #expect(try await self.changes() == [7])
        #expect(try await self.take() == .taken)
        #expect(try await self.changes(after: start) == [-7])
    }

    /// Returns the ids in alice's list after the change `start`. The id of a deleted notification
    /// is negative.
    private func changes(after start: Int64 = 1) async throws -> [Int64] {
        let page = try await self.fixture.reader.notifications(
            ChangeRange(after: start, limit: 10, isUnreadOnly: false),
            for: self.alice.id,
            now: self.fixture.now
        ) { _ in false }
        return page.entries.map { $0.isGone ? -$0.id.rawValue : $0.id.rawValue }
    }

    // MARK: Pushes

    /// The answer to the device that fetched the payload may be lost. The user's other devices may
    /// therefore still need their pushes.
    @Test func otherDevicesArePushedUntilThePayloadIsTaken() async throws {
        for number in 0..<3 { try await self.fixture.addDevice(of: self.alice, handle: "h-\(number)") }
        try await self.postToAlice()
        #expect(try await self.lease() == .granted)
        let claimed = try await self.fixture.lease(limit: 1)
        #expect(claimed.count == 1)
        #expect(try await self.take() == .taken)
        #expect(try await self.fixture.lease() == [])
        for delivery in claimed { try await self.fixture.settle(delivery, as: .accepted(providerID: nil)) }
        let tally = try #require(try await self.fixture.reader.tallies()["apns"])
        #expect(tally.cancelled == 2)
        #expect(tally.accepted == 1)
    }

    @Test func endOfTheLeaseCancelsPushes() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.postToAlice()
        #expect(try await self.lease() == .granted)
        self.fixture.clock.advance(by: 60)
        #expect(try await self.endLeases() == nil)
        #expect(try await self.fixture.lease() == [])
        #expect(try await self.fixture.reader.tallies()["apns"]?.cancelled == 1)
    }

    @Test func deviceThatConnectsGetsNoPushOfATakenPayload() async throws {
        var options = StoreOptions()
        options.streamLanes = ["stream"]
        let fixture = try StoreFixture(options: options)
        let alice = try await fixture.addUser("alice")
        let device = try await fixture.addDevice(of: alice, platform: "stream", handle: "away")
        for number in Int64(1)...2 {
            try await fixture.post(number, from: alice, to: "username:alice", isReadOnce: true)
        }
        #expect(try await fixture.store.take(#require(NotificationID(rawValue: 1)), by: alice.id, now: fixture.now))
        let (store, now) = (fixture.store, fixture.now)
        #expect(try await store.streamOpened(for: [device], ofUser: alice.id, after: nil, now: now) == 1)
        #expect(try await fixture.lease("stream").map(\.push.notification.rawValue) == [2])
        await fixture.store.close()
    }

    // MARK: Taking

    enum Past: CaseIterable {
        case nothing, leased, over, ended, taken, dismissed, dismissedWhileLeased, recalled, recalledWhileLeased
        case recalledWhenTaken

        var outcome: TakeOutcome {
            switch self {
            case .nothing: .notFetched
            case .leased, .over: .taken
            case .ended, .taken, .dismissedWhileLeased, .recalledWhenTaken: .takenBefore
            case .dismissed, .recalled, .recalledWhileLeased: .missing
            }
        }
    }

    @Test(arguments: Past.allCases) func outcomeOfTakingDependsOnThePast(past: Past) async throws {
        try await self.postToBoth()
        let isLeased = ![Past.nothing, .dismissed, .recalled].contains(past)
        if isLeased { #expect(try await self.lease() == .granted) }
        switch past {
        case .nothing, .leased: break
        case .over: self.fixture.clock.advance(by: 60)
        case .ended:
            self.fixture.clock.advance(by: 60)
            #expect(try await self.endLeases() == nil)
        case .taken: #expect(try await self.take() == .taken)
        case .dismissed, .dismissedWhileLeased:
            #expect(try await self.store.dismiss(self.id, by: self.alice.id, now: self.fixture.now))
        case .recalled, .recalledWhileLeased, .recalledWhenTaken:
            if past == .recalledWhenTaken { #expect(try await self.take() == .taken) }
            #expect(try await self.store.recall(self.id, by: .administrator, now: self.fixture.now))
        }
        #expect(try await self.take() == past.outcome)
        let isOver = past.outcome == .taken || past.outcome == .takenBefore
        #expect(try await self.take() == (isOver ? .takenBefore : past.outcome), "as often as it is said")
        let isThere = ![Past.recalled, .recalledWhileLeased, .recalledWhenTaken].contains(past)
        #expect(try await (self.fetch(as: self.bob) != nil) == isThere, "the other recipient's is untouched")
    }

    @Test func onlyARecipientTakesAPayload() async throws {
        try await self.postToAlice()
        #expect(try await self.lease() == .granted)
        #expect(try await self.take(as: self.bob) == .missing, "its sender, too")
        #expect(try await self.fetch() != nil)
        let other = try #require(NotificationID(rawValue: 8))
        #expect(try await self.store.take(other, by: self.alice.id, recording: nil, now: self.fixture.now) == .missing)
    }

    @Test func ordinaryPayloadIsNotTaken() async throws {
        try await self.postToAlice(isReadOnce: false)
        #expect(try await self.take() == .notReadOnce)
        #expect(try await self.fetch() != nil)
        #expect(try await self.store.dismiss(self.id, by: self.alice.id, now: self.fixture.now))
        #expect(try await self.take() == .missing)
    }
}
