import Foundation
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

/// Handles that can be guessed. The store registers such a handle only when the user has returned
/// the code that was pushed to the handle.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct HandleClaimTests {
    private let fixture: StoreFixture
    private let alice: User
    private let bob: User
    private var store: any Store { self.fixture.store }
    private var reader: any StoreReader { self.fixture.reader }
    /// Makes the ids of the notifications by which codes are pushed.
    private let ids = Numbers()

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.bob = try await self.fixture.addUser("bob")
    }

    // MARK: Steps

    private func register(
        _ id: String,
        _ handle: String,
        of user: User,
        platform: String = "hook",
        within bounds: StorageBounds? = nil,
        confirmation: Int64? = nil
    ) async throws -> RegisterOutcome {
        try await self.fixture.issue(id, to: user)
        let name = Platform(stored: platform)
        let notification = try #require(NotificationID(rawValue: confirmation ?? self.ids.next()))
        let registration = DeviceRegistration(
            platform: name,
            lane: Lane(name),
            handle: try #require(DeviceHandle(handle)),
            tags: [try #require(Tag("news"))],
            confirmation: platform.hasSuffix("hook") ? notification : nil
        )
        return try await self.store.register(
            registration,
            as: #require(RegistrationID(id)),
            for: user,
            by: AuditRecord(.registerDevice, of: id, by: Self.actor(user), at: self.fixture.now),
            within: bounds,
            now: self.fixture.now
        )
    }

    private func confirm(
        _ id: String,
        _ code: String,
        of user: User,
        within bounds: StorageBounds? = nil
    ) async throws -> RegisterOutcome {
        try await self.store.confirm(
            code,
            for: #require(RegistrationID(id)),
            of: user,
            with: nil,
            by: AuditRecord(.registerDevice, of: id, by: Self.actor(user), at: self.fixture.now),
            within: bounds,
            now: self.fixture.now
        )
    }

    private static func actor(_ user: User) -> AuditRecord.Actor {
        AuditRecord.Actor(name: user.name, token: nil, client: "192.0.2.1", request: "r")
    }

    /// Takes (leases) the due pushes to the webhook, and records them as accepted.
    private func pushes() async throws -> [Push] {
        let leased = try await self.fixture.lease("hook")
        try await self.store.settle(leased.map { ($0, .accepted(providerID: nil)) }, now: self.fixture.now)
        return leased.map(\.push)
    }

    /// Returns the code in the only due push.
    private func pushedCode(to handle: String) async throws -> String {
        let pushes = try await self.pushes()
        #expect(pushes.map(\.handle) == [handle])
        return try #require(pushes.first?.confirmation).exposed
    }

    /// Registers a handle and confirms it.
    private func hold(_ id: String, _ handle: String, of user: User) async throws {
        #expect(try await self.register(id, handle, of: user) == .unconfirmed(hasWork: true))
        let code = try await self.pushedCode(to: handle)
        #expect(try await self.confirm(id, code, of: user) == .registered(moved: 0))
    }

    private func handles(of user: User) async throws -> [String] {
        try await self.reader.devices(ofUser: user.id).map(\.handle.value)
    }

    @Test func freeAndTakenHandlesAreClaimedAlike() async throws {
        try await self.hold("a", "taken", of: self.alice)
        for (id, handle) in [("b", "taken"), ("c", "free")] {
            #expect(try await self.register(id, handle, of: self.bob) == .unconfirmed(hasWork: true))
            let code = try await self.pushedCode(to: handle)
            #expect(code.wholeMatch(of: /[0-9a-f]{32}/) != nil)
        }
        #expect(try await self.handles(of: self.bob).isEmpty)
        #expect(try await self.handles(of: self.alice) == ["taken"])
    }

    /// When a user leaves an app, only the user's claims (unconfirmed registrations) in this app
    /// end. The user's rows in the other app stay.
    @Test(arguments: ["a", "b"])
    func userWhoLeavesAnAppLosesItsClaimsThere(id: String) async throws {
        let (bank, now) = (try #require(AppName("bank")), self.fixture.now)
        _ = try await self.store.changeUser(self.alice.name, apps: [bank, .usual], now: now)
        try await self.hold("a", "old", of: self.alice)
        #expect(
            try await self.register(id, "new", of: self.alice, platform: "bank:hook") == .unconfirmed(hasWork: true)
        )
        let code = try #require(try await self.fixture.lease("bank:hook").first?.push.confirmation).exposed
        #expect(try await self.store.changeUser(self.alice.name, apps: [.usual], now: now) == .done)
        #expect(try await self.confirm(id, code, of: self.alice) == .refused)
        #expect(try await self.handles(of: self.alice) == ["old"])
    }

    // MARK: Until it is confirmed

    @Test(arguments: [["username:bob"], ["news"], ["!beta"], ["username:bob && news"]])
    func onlyTheCodeIsPushedToAClaim(expressions: [String]) async throws {
        _ = try await self.register("b", "x", of: self.bob)
        _ = try await self.pushes()
        try await self.fixture.post(7, from: self.alice, to: expressions[0])
        #expect(try await self.pushes().isEmpty)
        #expect(try await self.reader.devices(ofUser: self.bob.id).isEmpty)
    }

    @Test func anOldHandleStaysInUseUntilTheNewOneIsConfirmed() async throws {
        try await self.hold("b", "old", of: self.bob)
        #expect(try await self.register("b", "new", of: self.bob) == .unconfirmed(hasWork: true))
        let code = try await self.pushedCode(to: "new")
        try await self.fixture.post(7, from: self.alice, to: "username:bob")
        #expect(try await self.pushes().map(\.handle) == ["old"])
        #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0))
        try await self.fixture.post(8, from: self.alice, to: "username:bob")
        #expect(try await self.pushes().map(\.handle) == ["new"])
    }

    @Test func refusedCodeIsNotRetriedAndRetiresNothing() async throws {
        try await self.hold("b", "old", of: self.bob)
        _ = try await self.register("b", "new", of: self.bob)
        let leased = try await self.fixture.lease("hook")
        let push = try #require(leased.first)
        let retired = try await self.store.retire(
            device: push.device,
            handle: push.push.handle,
            in: Lane(Platform("hook")),
            reason: "gone",
            since: self.fixture.now,
            now: self.fixture.now
        )
        #expect(retired == nil)
        try await self.fixture.settle(push, as: .failed(reason: "HTTP 410"))
        #expect(try await self.fixture.nextDue("hook") == nil)
        #expect(try await self.handles(of: self.bob) == ["old"])
    }

    @Test(arguments: ["apns", "old"])
    func registeringAnotherHandleEndsTheClaim(other: String) async throws {
        try await self.hold("b", "old", of: self.bob)
        _ = try await self.register("b", "new", of: self.bob)
        let code = try await self.pushedCode(to: "new")
        let platform = other == "apns" ? "apns" : "hook"
        #expect(try await self.register("b", other, of: self.bob, platform: platform) == .registered(moved: 0))
        #expect(try await self.confirm("b", code, of: self.bob) == .refused)
        #expect(try await self.handles(of: self.bob) == [other])
    }

    // MARK: Confirming

    @Test func theCodeMovesTheHandleAndTheOldOwnerSeesIt() async throws {
        try await self.hold("a", "x", of: self.alice)
        try await self.fixture.post(7, from: self.bob, to: "username:alice")
        _ = try await self.register("b", "x", of: self.bob)
        let pushes = try await self.pushes()
        let code = try #require(pushes.compactMap(\.confirmation).first).exposed
        #expect(pushes.count == 2, "the old owner's pushes go out until then")
        try await self.fixture.post(8, from: self.bob, to: "username:alice")
        #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0))
        #expect(try await self.pushes().isEmpty, "and are cancelled with it")
        #expect(try await self.handles(of: self.alice).isEmpty)
        #expect(try await self.handles(of: self.bob) == ["x"])
        #expect(try await self.reader.devices(ofUser: self.bob.id).first?.tags.count == 2)
        let moved = try await self.reader.movedDevices(ofUser: self.alice.id, since: self.fixture.now - 1)
        #expect(moved.map(\.id.description) == ["a"])
        let audit = try await self.reader.auditEntries(before: nil, limit: 10).reversed()
        #expect(
            audit.map { "\($0.actor) \($0.action) \($0.subject) \($0.detail)" } == [
                "alice device.claim a hook", "alice device.register a hook", "bob device.claim b hook",
                "bob device.move a hook, from alice", "bob device.register b hook",
            ]
        )
        #expect(try await self.register("a", "x", of: self.alice) == .gone(reason: MovedDevice.reason))
        #expect(try await self.confirm("a", code, of: self.alice) == .gone(reason: MovedDevice.reason))
    }

    @Test func repeatedCodeConfirmsAgain() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        let code = try await self.pushedCode(to: "x")
        for _ in 0..<3 { #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0)) }
        #expect(try await self.confirm("b", code + "0", of: self.bob) == .refused)
        self.fixture.clock.advance(by: 3600)
        #expect(try await self.confirm("b", code, of: self.bob) == .refused)
        #expect(try await self.handles(of: self.bob) == ["x"])
    }

    @Test func aConfirmedHandleStaysConfirmed() async throws {
        try await self.hold("b", "x", of: self.bob)
        #expect(try await self.register("b", "x", of: self.bob) == .registered(moved: 0))
        // The user can register the confirmed handle again, also under another id.
        #expect(try await self.register("c", "x", of: self.bob) == .registered(moved: 0))
        #expect(try await self.pushes().isEmpty)
        #expect(try await self.reader.devices(ofUser: self.bob.id).map(\.id.description) == ["c"])
    }

    @Test func codeConfirmsItsOwnUserAndHandleOnly() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        let code = try await self.pushedCode(to: "x")
        _ = try await self.register("a", "x", of: self.alice)
        _ = try await self.register("c", "y", of: self.bob)
        #expect(try await self.confirm("a", code, of: self.alice) == .refused)
        #expect(try await self.confirm("c", code, of: self.bob) == .refused)
        #expect(try await self.confirm("b", code, of: self.alice) == .missing)
        #expect(try await self.confirm("never-issued", code, of: self.alice) == .missing)
        #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0))
    }

    @Test func usedCodeDoesNotTakeAHandleBack() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        let code = try await self.pushedCode(to: "x")
        #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0))
        try await self.hold("a", "x", of: self.alice)
        #expect(try await self.register("again", "x", of: self.bob) == .unconfirmed(hasWork: true))
        #expect(try await self.confirm("again", code, of: self.bob) == .refused)
        #expect(try await self.handles(of: self.alice) == ["x"])
    }

    @Test func fiveWrongCodesInvalidateTheRightOne() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        let code = try await self.pushedCode(to: "x")
        for _ in 0..<4 { #expect(try await self.confirm("b", "0123", of: self.bob) == .refused) }
        // After five wrong attempts, even the right code is refused.
        #expect(try await self.confirm("b", "", of: self.bob) == .refused)
        #expect(try await self.confirm("b", code, of: self.bob) == .refused)
        // The store pushes the next code after a minute.
        #expect(try await self.register("b", "x", of: self.bob) == .unconfirmed(hasWork: true))
        #expect(try await self.pushes().isEmpty)
        self.fixture.clock.advance(by: 60)
        let next = try await self.pushedCode(to: "x")
        #expect(try await self.confirm("b", next, of: self.bob) == .registered(moved: 0))
    }

    @Test(arguments: [(3599.0, true), (3600.0, false)])
    func codeIsValidForAnHour(age: TimeInterval, isGood: Bool) async throws {
        _ = try await self.register("b", "x", of: self.bob)
        let code = try await self.pushedCode(to: "x")
        self.fixture.clock.advance(by: age)
        let outcome = try await self.confirm("b", code, of: self.bob)
        #expect(outcome == (isGood ? .registered(moved: 0) : .refused))
    }

    /// The notification of a code has no payload, so it can be neither recalled nor fetched.
    @Test func codeCannotBeFetchedOrRecalled() async throws {
        _ = try await self.register("b", "x", of: self.bob, confirmation: 77)
        let code = try await self.pushedCode(to: "x")
        let id = try #require(NotificationID(rawValue: 77))
        #expect(try await !self.store.recall(id, by: .administrator, now: self.fixture.now))
        #expect(try await !self.store.recall(id, by: .sender(self.bob.id), now: self.fixture.now))
        let found = try await self.reader.notification(id, for: self.bob.id, alsoAsSender: true, now: self.fixture.now)
        #expect(found == nil)
        #expect(try await self.confirm("b", code, of: self.bob) == .registered(moved: 0))
    }

    // MARK: Limits

    @Test func codesArePushedAMinuteApart() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        let first = try await self.pushedCode(to: "x")
        self.fixture.clock.advance(by: 59)
        for id in ["b", "c", "b"] {
            #expect(try await self.register(id, "x", of: self.bob) == .unconfirmed(hasWork: false))
        }
        #expect(try await self.pushes().isEmpty)
        self.fixture.clock.advance(by: 1)
        #expect(try await self.register("b", "x", of: self.bob) == .unconfirmed(hasWork: true))
        let second = try await self.pushedCode(to: "x")
        #expect(first != second)
        #expect(try await self.confirm("b", first, of: self.bob) == .refused)
        #expect(try await self.confirm("b", second, of: self.bob) == .registered(moved: 0))
    }

    @Test func claimingAgainUnderAnotherIDMovesTheClaimAndItsCode() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        _ = try await self.register("c", "x", of: self.bob)
        let code = try await self.pushedCode(to: "x")
        #expect(try await self.confirm("b", code, of: self.bob) == .refused)
        #expect(try await self.confirm("c", code, of: self.bob) == .registered(moved: 0))
    }

    @Test func deletingAndClaimingAgainPushesNoSooner() async throws {
        let start = self.fixture.now
        _ = try await self.register("b", "x", of: self.bob)
        _ = try await self.pushes()
        for number in 0..<3 {
            let id = "b\(number)"
            #expect(
                try await self.store.unregister(
                    #require(RegistrationID(number == 0 ? "b" : "b\(number - 1)")),
                    ofUser: self.bob.id
                )
            )
            #expect(try await self.register(id, "x", of: self.bob) == .unconfirmed(hasWork: true))
            #expect(try await self.fixture.nextDue("hook") == start + 60)
        }
        self.fixture.clock.advance(by: 60)
        let code = try await self.pushedCode(to: "x")
        #expect(try await self.confirm("b2", code, of: self.bob) == .registered(moved: 0))
    }

    @Test func aUserClaimsTwentyHandlesAnHour() async throws {
        let start = self.fixture.now
        for number in 0..<20 {
            #expect(try await self.register("b", "x\(number)", of: self.bob) == .unconfirmed(hasWork: true))
        }
        #expect(try await self.register("b", "more", of: self.bob) == .tooManyClaims(until: start + 3600))
        // A user who has as many claims (unconfirmed registrations) as allowed may repeat one of
        // them. Other users may still claim handles.
        #expect(try await self.register("b", "x7", of: self.bob) == .unconfirmed(hasWork: true))
        #expect(try await self.register("a", "more", of: self.alice) == .unconfirmed(hasWork: true))
        self.fixture.clock.advance(by: 3600)
        #expect(try await self.register("b", "more", of: self.bob) == .unconfirmed(hasWork: true))
    }

    @Test func claimsObeyTheDeviceLimit() async throws {
        let bounds = try #require(StorageBounds(devices: 1, notifications: 10, bytes: 1000))
        _ = try await self.register("b", "x", of: self.bob, within: bounds)
        let code = try await self.pushedCode(to: "x")
        // A claim (unconfirmed registration) does not count as a device until it is confirmed.
        #expect(
            try await self.register("c", "y", of: self.bob, platform: "apns", within: bounds) == .registered(moved: 0)
        )
        #expect(try await self.confirm("b", code, of: self.bob, within: bounds) == .tooMany)
        #expect(try await self.register("d", "z", of: self.bob, within: bounds) == .tooMany)
        #expect(try await self.store.unregister(#require(RegistrationID("c")), ofUser: self.bob.id))
        #expect(try await self.confirm("b", code, of: self.bob, within: bounds) == .registered(moved: 0))
    }

    @Test func anIDThatIsTakenChangesNothing() async throws {
        try await self.fixture.post(55, from: self.alice, to: "username:alice")
        #expect(try await self.register("b", "x", of: self.bob, confirmation: 55) == .idTaken)
        #expect(try await self.pushes().isEmpty)
        #expect(try await self.register("b", "x", of: self.bob) == .unconfirmed(hasWork: true))
    }

    // MARK: For operators

    @Test func anOperatorSeesThePushOfTheCode() async throws {
        #expect(try await self.reader.claims(ofUser: self.bob.id) == [])
        try await self.hold("b", "old", of: self.bob)
        _ = try await self.register("b", "new", of: self.bob)
        _ = try await self.register("a", "x", of: self.alice)
        let id = try #require(RegistrationID("b"))
        let device = try #require(try await self.reader.deviceEntry(id))
        func push() async throws -> DeliveryEntry {
            let claims = try await self.reader.claims(ofUser: self.bob.id)
            #expect(claims.map(\.device) == [device.place.number])
            return try #require(claims.first).push
        }
        let now = self.fixture.now
        let queued = try await push()
        #expect(queued.state == .queued && queued.nextAttempt == now && queued.reason == nil)
        let leased = try #require(try await self.fixture.lease("hook").first { $0.push.handle == "new" })
        #expect(try await push().state == .sending)
        try await self.fixture.settle(leased, as: .retried(at: now + 60, reason: "HTTP 503"))
        let retried = try await push()
        #expect(retried.state == .queued && retried.nextAttempt == now + 60)
        #expect(retried.reason == "HTTP 503" && retried.attempts == 1 && retried.lane.description == "hook")
        self.fixture.clock.advance(by: 60)
        let again = try #require(try await self.fixture.lease("hook").first)
        try await self.fixture.settle(again, as: .failed(reason: "HTTP 410"))
        let failed = try await push()
        #expect(failed.state == .failed && failed.updatedAt == self.fixture.now && failed.nextAttempt == nil)
        // In the list of failed pushes, the push of a code has the id of the row of the claim
        // (unconfirmed registration).
        let failure = try #require(
            try await self.reader.failedPushes(since: now, before: nil, limit: 1).first?.delivery.device
        )
        #expect(try await self.reader.deviceEntry(failure)?.id.description == "b")
        #expect(try await self.store.unregister(id, ofUser: self.bob.id))
        #expect(try await self.reader.claims(ofUser: self.bob.id) == [])
    }

    // MARK: Ends

    @Test func aClaimEndsWithItsDeviceOrItsUser() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        _ = try await self.register("a", "y", of: self.alice)
        #expect(try await self.store.unregister(#require(RegistrationID("b")), ofUser: self.bob.id))
        #expect(try await self.store.deleteUser(self.alice.name) == .done)
        #expect(try await self.pushes().isEmpty)
        let tally = try #require(try await self.reader.tallies()["hook"])
        #expect((tally.enqueued, tally.cancelled) == (2, 2))
    }

    @Test func expiredClaimsAreDeleted() async throws {
        _ = try await self.register("b", "x", of: self.bob)
        _ = try await self.register("a", "y", of: self.alice)
        #expect(try await self.store.deleteExpiredClaims(now: self.fixture.now + 3599, limit: 10) == 0)
        #expect(try await self.store.deleteExpiredClaims(now: self.fixture.now + 3600, limit: 1) == 1)
        #expect(try await self.store.deleteExpiredClaims(now: self.fixture.now + 3600, limit: 10) == 1)
        #expect(try await self.store.deleteExpiredClaims(now: self.fixture.now + 3600, limit: 10) == 0)
        #expect(try await self.pushes().isEmpty)
    }
}

/// Returns a new number at each call, from 1001 on.
private final class Numbers: Sendable {
    private let last = Atomic<Int64>(1000)

    func next() -> Int64 { self.last.wrappingAdd(1, ordering: .relaxed).newValue }
}
