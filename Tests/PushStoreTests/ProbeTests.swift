import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// A probe is a single push that the store takes from the queue to find out whether a provider
/// accepts pushes again.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct ProbeTests {
    private let fixture: StoreFixture
    private let publisher: User
    private static let lane = Lane(Platform("apns"))

    init() async throws {
        self.fixture = try StoreFixture()
        self.publisher = try await self.fixture.addUser("publisher")
    }

    /// Adds a user with a device with this handle. If `isKnown`, a push to the device was accepted
    /// before.
    private func addUser(_ name: String, handle: String, isKnown: Bool) async throws -> User {
        let user = try await self.fixture.addUser(name)
        try await self.fixture.addDevice(of: user, handle: handle)
        guard isKnown else { return user }
        try await self.fixture.post(Int64(1000 + user.id), from: self.publisher, to: "username:\(name)")
        for delivery in try await self.fixture.lease() {
            try await self.fixture.settle(delivery, as: .accepted(providerID: nil))
        }
        return user
    }

    private func post(_ number: Int64, to name: String, expiresIn: TimeInterval = 3600) async throws {
        try await self.fixture.post(number, from: self.publisher, to: "username:\(name)", expiresIn: expiresIn)
        self.fixture.clock.advance(by: 1)
    }

    private func probe(_ address: ProbeChoice.Address = .known, avoiding users: User...) async throws -> LeasedDelivery?
    {
        let choice = ProbeChoice(address, avoiding: Set(users.map(\.id)))
        guard let push = try await self.find(choice) else { return nil }
        return try await self.lease(push)
    }

    private func find(_ choice: ProbeChoice) async throws -> DuePush? {
        try await self.fixture.reader.probe(in: Self.lane, choice, now: self.fixture.now)
    }

    private func lease(_ push: DuePush, from lane: Lane = Self.lane) async throws -> LeasedDelivery? {
        try await self.fixture.store.leaseProbe(push, from: lane, interval: nil, now: self.fixture.now)
    }

    @Test func probeGoesToAKnownAddressBeforeOlderPushes() async throws {
        _ = try await self.addUser("known", handle: "k", isKnown: true)
        _ = try await self.addUser("new", handle: "n", isKnown: false)
        for number in Int64(1)...20 { try await self.post(number, to: "new") }
        try await self.post(21, to: "known")
        try await self.post(22, to: "known")
        let probe = try #require(try await self.probe())
        #expect(probe.push.notification.rawValue == 21)
        #expect(probe.isAddressKnown)
        #expect(probe.state.attempts == 1)
        // The probe is taken (leased) like any push. No other push was taken with it, so the other
        // 21 are still due.
        #expect(try await self.fixture.lease().count == 21)
    }

    @Test func probeGoesToAnUnknownAddressOnRequest() async throws {
        _ = try await self.addUser("known", handle: "k", isKnown: true)
        _ = try await self.addUser("new", handle: "n", isKnown: false)
        try await self.post(1, to: "known")
        try await self.post(2, to: "new")
        let probe = try #require(try await self.probe(.new))
        #expect(probe.push.handle == "n")
        #expect(!probe.isAddressKnown)
    }

    @Test func usersWhoAreAvoidedComeLast() async throws {
        let known = try await self.addUser("known", handle: "k", isKnown: true)
        let suspect = try await self.addUser("suspect", handle: "s", isKnown: false)
        _ = try await self.addUser("new", handle: "n", isKnown: false)
        for (number, name) in ["suspect", "known", "new"].enumerated() {
            try await self.post(Int64(number + 1), to: name)
        }
        var handles: [String] = []
        while let probe = try await self.probe(avoiding: known, suspect) { handles.append(probe.push.handle) }
        // If there are only pushes that the search would rather avoid, it takes the oldest of
        // them.
        #expect(handles == ["n", "s", "k"])
    }

    @Test func anAddressThatChangedIsNew() async throws {
        let user = try await self.addUser("mover", handle: "old", isKnown: true)
        _ = try await self.addUser("known", handle: "k", isKnown: true)
        let device = try #require(try await self.fixture.reader.devices(ofUser: user.id).first)
        func register(_ handle: String) async throws {
            let registration = DeviceRegistration(
                platform: device.platform,
                lane: Lane(device.platform),
                handle: try #require(DeviceHandle(handle)),
                tags: []
            )
            let outcome = try await self.fixture.store.register(
                registration,
                as: device.id,
                for: user,
                now: self.fixture.now
            )
            #expect(outcome == .registered(moved: 0))
        }
        try await register("old")
        try await self.post(1, to: "mover")
        try await self.post(2, to: "mover")
        #expect(try await self.probe()?.push.notification.rawValue == 1)
        try await register("invented")
        #expect(try await self.fixture.reader.devices(ofUser: user.id).first?.pushedAt == nil)
        try await self.post(3, to: "known")
        #expect(try await self.probe()?.push.notification.rawValue == 3)
        let probe = try #require(try await self.probe())
        #expect(probe.push.handle == "invented")
        #expect(!probe.isAddressKnown)
    }

    @Test func singleNotificationIsProbedBeforeABroadcast() async throws {
        let users = ["a", "b", "c"]
        for name in users { _ = try await self.addUser(name, handle: name, isKnown: true) }
        try await self.fixture.post(1, from: self.publisher, to: "!none", page: 2)
        while try await self.fixture.store.expandFanout(page: 2, now: self.fixture.now) != nil {}
        self.fixture.clock.advance(by: 1)
        try await self.post(2, to: "c")
        #expect(try await self.probe()?.push.notification.rawValue == 2)
        _ = try await self.addUser("new", handle: "n", isKnown: false)
        try await self.post(3, to: "new")
        #expect(try await self.probe()?.push.notification.rawValue == 1)
    }

    @Test func expiredPushIsSettledByTheProbe() async throws {
        _ = try await self.addUser("known", handle: "k", isKnown: true)
        try await self.post(1, to: "known", expiresIn: 10)
        self.fixture.clock.advance(by: 10)
        try await self.post(2, to: "known")
        #expect(try await self.probe() == nil)
        #expect(try await self.fixture.reader.tallies()["apns"]?.expired == 1)
        #expect(try await self.probe()?.push.notification.rawValue == 2)
        #expect(try await self.find(ProbeChoice(.known, avoiding: [])) == nil)
    }

    @Test func leasingAProbeFailsIfItIsNoLongerDue() async throws {
        _ = try await self.addUser("known", handle: "k", isKnown: true)
        try await self.post(1, to: "known")
        let push = try #require(try await self.find(ProbeChoice(.known, avoiding: [])))
        #expect(try await self.lease(push, from: Lane(Platform("fcm"))) == nil)
        let leased = try #require(try await self.lease(push))
        #expect(try await self.lease(push) == nil)
        try await self.fixture.settle(leased, as: .accepted(providerID: nil))
        #expect(try await self.lease(push) == nil)
    }

    @Test func onlyADuePushIsProbed() async throws {
        _ = try await self.addUser("known", handle: "k", isKnown: true)
        try await self.post(1, to: "known")
        let leased = try #require(try await self.fixture.lease().first)
        #expect(!leased.isAddressKnown, "it is looked up for probes only")
        try await self.fixture.settle(leased, as: .retried(at: self.fixture.now + 10, reason: "later"))
        #expect(try await self.probe() == nil)
        self.fixture.clock.advance(by: 10)
        #expect(try await self.probe()?.state.attempts == 2)
    }
}
