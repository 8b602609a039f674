import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Tests which accounts keep the handle of a shared device, and that the device's pushes contain
/// a hint at the account.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct SharedHandleTests {
    private let fixture: StoreFixture
    private let alice: User
    private let bob: User
    private var store: any Store { self.fixture.store }

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.bob = try await self.fixture.addUser("bob")
    }

    private func devices(of user: User) async throws -> [RegisteredDevice] {
        try await self.fixture.reader.devices(ofUser: user.id)
    }

    private func register(_ id: RegistrationID, of user: User, isShared: Bool) async throws -> RegisterOutcome {
        let platform = Platform("apns")
        let registration = DeviceRegistration(
            platform: platform,
            lane: Lane(platform),
            handle: try #require(DeviceHandle("abc")),
            tags: [],
            isShared: isShared
        )
        return try await self.store.register(registration, as: id, for: user, now: self.fixture.now)
    }

    @Test(arguments: [true, false])
    func sharedRegistrationKeepsDevicesOfOtherUsers(isOtherShared: Bool) async throws {
        let first = try await self.fixture.addDevice(of: self.alice, handle: "abc", isShared: isOtherShared)
        let second = try await self.fixture.addDevice(of: self.bob, handle: "ABC", isShared: true)
        #expect(try await self.devices(of: self.alice).map(\.id) == [first])
        #expect(try await self.devices(of: self.alice).map(\.isShared) == [isOtherShared])
        #expect(try await self.devices(of: self.bob).map(\.id) == [second])
        #expect(try await self.devices(of: self.bob).map(\.isShared) == [true])
        let moved = try await self.fixture.reader.movedDevices(ofUser: self.alice.id, since: .distantPast)
        #expect(moved.isEmpty)
    }

    @Test func exclusiveRegistrationTakesTheHandleFromAllOthers() async throws {
        let carol = try await self.fixture.addUser("carol")
        let first = try await self.fixture.addDevice(of: self.alice, handle: "abc", isShared: true)
        let second = try await self.fixture.addDevice(of: self.bob, handle: "abc", isShared: true)
        try await self.fixture.addDevice(of: carol, handle: "abc")
        for (id, user) in [(first, self.alice), (second, self.bob)] {
            #expect(try await self.devices(of: user).isEmpty)
            let moved = try await self.fixture.reader.movedDevices(ofUser: user.id, since: .distantPast)
            #expect(moved.map(\.id) == [id])
            #expect(try await self.register(id, of: user, isShared: true) == .gone(reason: MovedDevice.reason))
        }
        #expect(try await self.devices(of: carol).count == 1)
    }

    @Test func userHasASharedHandleOnce() async throws {
        let old = try await self.fixture.addDevice(of: self.alice, handle: "abc", isShared: true)
        try await self.fixture.addDevice(of: self.bob, handle: "abc", isShared: true)
        let new = try await self.fixture.addDevice(of: self.alice, handle: "abc", isShared: true)
        #expect(try await self.devices(of: self.alice).map(\.id) == [new])
        let gone = RegisterOutcome.gone(reason: "the handle was registered again")
        #expect(try await self.register(old, of: self.alice, isShared: true) == gone)
        #expect(try await self.devices(of: self.bob).count == 1)
    }

    @Test func registeringAgainMayChangeWhetherADeviceIsShared() async throws {
        let first = try await self.fixture.addDevice(of: self.alice, handle: "abc")
        let second = try await self.fixture.addDevice(of: self.bob, handle: "abc", isShared: true)
        #expect(try await self.register(first, of: self.alice, isShared: true) == .registered(moved: 0))
        #expect(try await self.devices(of: self.alice).map(\.isShared) == [true])
        #expect(try await self.devices(of: self.bob).map(\.id) == [second])
        #expect(try await self.register(first, of: self.alice, isShared: false) == .registered(moved: 0))
        #expect(try await self.devices(of: self.alice).map(\.isShared) == [false])
        #expect(try await self.devices(of: self.bob).isEmpty)
    }

    @Test func onlyPushesToSharedDevicesHaveAnAccountHint() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "abc")
        let shared = try await self.fixture.addDevice(of: self.bob, handle: "abc", isShared: true)
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        try await self.fixture.post(2, from: self.alice, to: "username:bob")
        let pushes = try await self.fixture.lease().map(\.push)
            .sorted { $0.notification.rawValue < $1.notification.rawValue }
        #expect(pushes.map(\.handle) == ["abc", "abc"])
        #expect(pushes.map(\.notification.rawValue) == [1, 2])
        #expect(pushes.first?.accountHint == nil)
        let hint = AccountHint(try #require(NotificationID(rawValue: 2)), of: shared)
        #expect(pushes.last?.accountHint == hint)
    }

    @Test func pushesToBothUsersDifferInHintAndCollapseID() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "abc", tags: ["news"], isShared: true)
        try await self.fixture.addDevice(of: self.bob, handle: "abc", tags: ["news"], isShared: true)
        try await self.fixture.post(1, from: self.alice, to: "news", collapseID: "k")
        let pushes = try await self.fixture.lease().map(\.push)
        #expect(pushes.count == 2)
        #expect(Set(pushes.map(\.notification)).count == 1)
        #expect(Set(pushes.compactMap(\.accountHint)).count == 2)
        #expect(Set(pushes.map(\.collapseID)).count == 2)
        #expect(pushes.map(\.replacesOlder) == [true, true])
    }

    @Test func unregisteringKeepsSharedDevicesOfOtherUsers() async throws {
        let first = try await self.fixture.addDevice(of: self.alice, handle: "abc", isShared: true)
        try await self.fixture.addDevice(of: self.bob, handle: "abc", isShared: true)
        #expect(try await self.store.unregister(first, ofUser: self.alice.id))
        try await self.fixture.post(1, from: self.alice, to: "username:bob")
        #expect(try await self.fixture.lease().count == 1)
        #expect(try await self.devices(of: self.bob).count == 1)
    }

    @Test func usersWhoShareAHandleConcurrentlyAllKeepIt() async throws {
        var users: [User] = []
        for number in 0..<8 { users.append(try await self.fixture.addUser("user\(number)")) }
        let fixture = self.fixture
        try await withThrowingTaskGroup { group in
            for user in users {
                group.addTask { _ = try await fixture.addDevice(of: user, handle: "abc", isShared: true) }
            }
            try await group.waitForAll()
        }
        for user in users { #expect(try await self.devices(of: user).count == 1) }
    }

    @Test func exclusiveHandleHasOneOwnerAfterARace() async throws {
        var users: [User] = []
        for number in 0..<6 { users.append(try await self.fixture.addUser("user\(number)")) }
        let fixture = self.fixture
        try await withThrowingTaskGroup { group in
            for user in users {
                group.addTask { _ = try await fixture.addDevice(of: user, handle: "abc") }
            }
            try await group.waitForAll()
        }
        var holders = 0
        for user in users { holders += try await self.devices(of: user).count }
        #expect(holders == 1)
    }
}
