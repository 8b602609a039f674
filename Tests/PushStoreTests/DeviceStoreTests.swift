import Foundation
import PushCore
import PushTesting
import Testing

@testable import PushStore

@Suite(.eachStore, .timeLimit(.minutes(5))) struct DeviceStoreTests {
    private let fixture: StoreFixture
    private var store: any Store { self.fixture.store }

    init() throws {
        self.fixture = try StoreFixture()
    }

    private func registration(_ handle: String, platform: String = "apns") throws -> DeviceRegistration {
        let name = Platform(platform)
        return DeviceRegistration(
            platform: name,
            lane: Lane(name),
            handle: try #require(DeviceHandle(handle)),
            tags: []
        )
    }

    @Test func aUserIsFoundInAnyCaseAndMadeOnce() async throws {
        let alice = try await fixture.addUser("Alice", role: .publisher)
        #expect(alice.role == .publisher)
        #expect(try await fixture.user("ALICE") == alice)
        let again = try await store.addUser(
            #require(Username("alice")),
            role: .admin,
            password: PasswordHash(phc: "x"),
            now: fixture.now
        )
        #expect(!again)
        #expect(try await fixture.user("alice").role == .publisher)
    }

    @Test func aHandleGivesBackTheRegistrationOfItsUser() async throws {
        let alice = try await fixture.addUser("alice")
        let id = try await fixture.addDevice(of: alice, handle: "ABCDEF")
        let handle = DeviceHandle("abcdef")
        #expect(try await store.requestRegistration(ofUser: alice.id, handle: handle, now: fixture.now) == id)
        let bob = try await fixture.addUser("bob")
        #expect(try await store.requestRegistration(ofUser: bob.id, handle: handle, now: fixture.now) != id)
    }

    /// All devices retire at the same time; the first of them was issued first.
    @Test func theFirstRetiredDeviceBeyondTheLimitLosesItsRow() async throws {
        let alice = try await fixture.addUser("alice")
        var ids: [RegistrationID] = []
        for _ in 0..<StoredDevice.tombstoneLimit + 2 {
            ids.append(try await fixture.addDevice(of: alice, handle: "abc"))
        }
        for (id, reason) in zip(ids, [RegistrationDecision.notIssued, RegistrationDecision.registeredAgain]) {
            let outcome = try await store.register(registration("abc"), as: id, for: alice, now: fixture.now)
            #expect(outcome == .gone(reason: reason))
        }
    }

    @Test func requestForAnIDRemovesDuplicatesOfItsHandle() async throws {
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, platform: "apns", handle: "abc")
        try await fixture.addDevice(of: alice, platform: "fcm", handle: "abc")
        #expect(try await fixture.reader.devices(ofUser: alice.id).count == 2)
        let id = try await store.requestRegistration(ofUser: alice.id, handle: DeviceHandle("abc"), now: fixture.now)
        #expect(try await fixture.reader.devices(ofUser: alice.id).map(\.id) == [id])
    }

    @Test(arguments: ["abc", "xyz"])
    func anIDNeverIssuedIsGoneWhetherItsHandleIsFreeOrNot(handle: String) async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        try await fixture.addDevice(of: alice, handle: "abc")
        let id = try #require(RegistrationID("made-by-a-client"))
        let outcome = try await store.register(registration(handle), as: id, for: bob, now: fixture.now)
        #expect(outcome == .gone(reason: "the registration id was not issued to this user"))
        #expect(try await fixture.reader.devices(ofUser: alice.id).count == 1)
        #expect(try await fixture.reader.devices(ofUser: bob.id).isEmpty)
    }

    @Test func anIssuedIDMovesTheHandleAndCancelsThePushesOfTheOldOwner() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        let old = try await fixture.addDevice(of: alice, handle: "abc")
        try await fixture.post(1, from: alice, to: "username:alice")
        try await fixture.addDevice(of: bob, handle: "abc")
        #expect(try await fixture.reader.devices(ofUser: alice.id).isEmpty)
        #expect(try await fixture.reader.devices(ofUser: bob.id).count == 1)
        let leased = try await fixture.lease()
        #expect(leased.isEmpty)
        let outcome = try await store.register(registration("abc"), as: old, for: alice, now: fixture.now)
        #expect(outcome == .gone(reason: "the handle was registered by another user"))
    }

    @Test func oldOwnerSeesMovedDevicesForSomeTime() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        let made = fixture.now
        let old = try await fixture.addDevice(of: alice, platform: "fcm", handle: "abc")
        // The store reports a device that moved to another user. It does not report devices that
        // the user's own registrations replaced.
        try await fixture.addDevice(of: alice, handle: "xyz")
        try await fixture.addDevice(of: alice, handle: "xyz")
        fixture.clock.advance(by: 5)
        try await fixture.addDevice(of: bob, platform: "fcm", handle: "abc")
        let moved = try await fixture.reader.movedDevices(ofUser: alice.id, since: made)
        #expect(moved.map(\.id) == [old] && moved.map(\.platform) == [Platform("fcm")])
        #expect(moved.map(\.createdAt) == [made] && moved.map(\.movedAt) == [fixture.now])
        #expect(try await fixture.reader.movedDevices(ofUser: alice.id, since: fixture.now).isEmpty)
        #expect(try await fixture.reader.movedDevices(ofUser: bob.id, since: made).isEmpty)
        #expect(try await store.unregister(old, ofUser: alice.id))
        #expect(try await fixture.reader.movedDevices(ofUser: alice.id, since: made).isEmpty)
    }

    @Test func aRetiredIDTellsAnotherUserNothing() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        let id = try await fixture.addDevice(of: alice, handle: "abc")
        try await fixture.addDevice(of: alice, handle: "abc")
        let outcome = try await store.register(registration("xyz"), as: id, for: bob, now: fixture.now)
        #expect(outcome == .gone(reason: "the registration id was not issued to this user"))
    }

    @Test func anotherUsersIDCannotBeTakenOver() async throws {
        let (alice, bob) = (try await fixture.addUser("alice"), try await fixture.addUser("bob"))
        let id = try await fixture.addDevice(of: alice, handle: "abc")
        let outcome = try await store.register(registration("xyz"), as: id, for: bob, now: fixture.now)
        #expect(outcome == .gone(reason: "the registration id was not issued to this user"))
        #expect(try await !store.unregister(id, ofUser: bob.id))
        #expect(try await fixture.reader.devices(ofUser: alice.id).map(\.handle) == [DeviceHandle("abc")])
    }

    @Test func deviceIsUnregisteredOnce() async throws {
        let alice = try await fixture.addUser("alice")
        let id = try await fixture.addDevice(of: alice, handle: "abc")
        #expect(try await store.unregister(id, ofUser: alice.id))
        #expect(try await !store.unregister(id, ofUser: alice.id))
        #expect(try await fixture.reader.devices(ofUser: alice.id).isEmpty)
    }

    @Test func aDeviceThatRegisteredAfterTheProvidersTimeIsNotRetired() async throws {
        let alice = try await fixture.addUser("alice")
        let id = try await fixture.addDevice(of: alice, handle: "abc").description
        let number = try #require(try await fixture.reader.devices(ofUser: alice.id).first).number
        let retire = { (handle: String, since: TimeInterval) in
            let date = self.fixture.now + since
            return try await self.store.retire(
                device: number,
                handle: handle,
                in: Lane(Platform("apns")),
                reason: "gone",
                since: date,
                now: self.fixture.now
            ) != nil
        }
        #expect(try await !retire("abc", -1))
        #expect(try await !retire("abd", 1))
        #expect(try await retire("abc", 1))
        #expect(try await fixture.reader.devices(ofUser: alice.id).isEmpty)
        let outcome = try await store.register(
            registration("abc"),
            as: #require(RegistrationID(id)),
            for: alice,
            now: fixture.now
        )
        #expect(outcome == .gone(reason: "gone"))
    }

    @Test func idsGivenOutAndNeverUsedDoNotPileUp() async throws {
        let alice = try await fixture.addUser("alice")
        var ids: [RegistrationID] = []
        for _ in 0..<25 {
            fixture.clock.advance(by: 1)
            ids.append(try await store.requestRegistration(ofUser: alice.id, handle: nil, now: fixture.now))
        }
        // The store has dropped the oldest id, so only the newest one may be used.
        let first = try await store.register(registration("abc"), as: ids[0], for: alice, now: fixture.now)
        let last = try await store.register(registration("abc"), as: ids[24], for: alice, now: fixture.now)
        #expect(first == .gone(reason: "the registration id was not issued to this user"))
        #expect(last == .registered(moved: 0))
    }
}
