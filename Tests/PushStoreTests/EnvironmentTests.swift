import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The store moves devices, with their queued pushes, to the other environment of their platform
/// (production or sandbox).
@Suite(.eachStore, .timeLimit(.minutes(5))) struct EnvironmentTests {
    private static let platform = Platform("apns")
    private static let production = Lane(platform, in: .production)
    private static let sandbox = Lane(platform, in: .sandbox)

    private let fixture: StoreFixture
    private let alice: User
    private let device: RegistrationID
    private let number: Int64

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, handle: "aa")
        self.number = try #require(try await self.fixture.reader.devices(ofUser: self.alice.id).first).number
    }

    private func move(from lane: Lane, to other: Lane, handle: String = "aa", page: Int? = nil) async throws -> Bool {
        try await self.fixture.store.move(
            device: self.number,
            handle: handle,
            from: lane,
            to: other,
            page: page,
            now: self.fixture.now
        )
    }

    /// Registers the device for a client that states this environment.
    private func register(_ environment: PushEnvironment, handle: String = "aa") async throws {
        let registration = DeviceRegistration(
            platform: Self.platform,
            lane: Lane(Self.platform, in: environment),
            otherLane: Lane(Self.platform, in: environment.other),
            handle: try #require(DeviceHandle(handle)),
            tags: []
        )
        _ = try await self.fixture.store.register(registration, as: self.device, for: self.alice, now: self.fixture.now)
    }

    private var environment: PushEnvironment? {
        get async throws { try await self.fixture.reader.devices(ofUser: self.alice.id).first?.environment }
    }

    private func due(_ lane: Lane) async throws -> Int {
        let request = LeaseRequest(100, from: lane, .direct)
        return try await self.fixture.store.lease(request, now: self.fixture.now).count
    }

    @Test(arguments: [1, 2, 1000])
    func queuedPushesMoveWithTheirDevice(page: Int) async throws {
        for number: Int64 in 1...3 { try await self.fixture.post(number, from: self.alice, to: "username:alice") }
        #expect(try await self.move(from: Self.production, to: Self.sandbox, page: page))
        #expect(try await self.environment == .sandbox)
        #expect(try await self.due(Self.production) == 0)
        #expect(try await self.due(Self.sandbox) == 3)
    }

    @Test func aPushOnItsWayContinuesInTheOtherLane() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        let leased = try #require(try await self.fixture.lease().first)
        #expect(try await self.move(from: Self.production, to: Self.sandbox))
        try await self.fixture.settle(leased, as: .moved(reason: "BadDeviceToken"))
        #expect(try await self.due(Self.sandbox) == 1)
        let tallies = try await self.fixture.reader.tallies()
        #expect(tallies["apns"]?.cancelled == 1)
        #expect(tallies["apns/sandbox"]?.pending == 1)
    }

    @Test func aDeviceIsMovedThereAndBackAndNoMore() async throws {
        #expect(try await self.move(from: Self.production, to: Self.sandbox))
        #expect(try await !self.move(from: Self.production, to: Self.sandbox))
        #expect(try await self.move(from: Self.sandbox, to: Self.production))
        #expect(try await !self.move(from: Self.production, to: Self.sandbox))
        #expect(try await self.environment == .production)
    }

    @Test func aDeviceThatHasRegisteredAnotherHandleStays() async throws {
        try await self.register(.production, handle: "bb")
        #expect(try await !self.move(from: Self.production, to: Self.sandbox))
        #expect(try await self.move(from: Self.production, to: Self.sandbox, handle: "bb"))
    }

    /// Until the store has moved a device to the other environment, it uses the environment that
    /// the client states. After the move, the client's environment counts only for a new handle.
    @Test(arguments: [
        // The device was moved to the sandbox. The client states production again, or the sandbox.
        (1, PushEnvironment.production, "aa", PushEnvironment.sandbox, false), (1, .sandbox, "aa", .sandbox, true),
        // For a new handle, the client's environment counts again. It also counts for a handle
        // that neither environment knew.
        (1, .production, "bb", .production, true), (2, .production, "aa", .production, true),
        (2, .sandbox, "aa", .sandbox, true), (0, .sandbox, "aa", .sandbox, true),
        (0, .production, "aa", .production, true),
    ])
    func aMovedDeviceStaysWhereItIsKnown(
        moves: Int,
        stated: PushEnvironment,
        handle: String,
        expected: PushEnvironment,
        mayMoveTwice: Bool
    ) async throws {
        let way = [(Self.production, Self.sandbox), (Self.sandbox, Self.production)]
        for (from, to) in way.prefix(moves) { #expect(try await self.move(from: from, to: to)) }
        try await self.register(stated, handle: handle)
        #expect(try await self.environment == expected)
        let (here, there) = (Lane(Self.platform, in: expected), Lane(Self.platform, in: expected.other))
        #expect(try await self.move(from: here, to: there, handle: handle))
        #expect(try await self.move(from: there, to: here, handle: handle) == mayMoveTwice)
    }
}
