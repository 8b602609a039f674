import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// Rows of pushes to disconnected devices. No index contains them until the device connects.
@Suite(.timeLimit(.minutes(5))) struct ParkingRowTests {
    private let fixture: StoreFixture
    private let alice: User
    private let device: RegistrationID

    init() async throws {
        var options = StoreOptions()
        options.streamLanes = ["stream"]
        self.fixture = try StoreFixture(options: options)
        self.alice = try await self.fixture.addUser("alice")
        self.device = try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "one")
    }

    private func parked() async throws -> Int {
        try await self.fixture.sqlite.writer.write { db in
            try Int.fetchOne(db, sql: "select count(*) from push where due_at is null and settled_at is null") ?? 0
        }
    }

    private func wake(_ device: RegistrationID) async throws -> Int {
        try await self.fixture.store.makeDue(for: [device], ofUser: self.alice.id, after: nil, now: self.fixture.now)
    }

    @Test func pushIsParkedUntilItsDeviceConnects() async throws {
        for number: Int64 in 1...3 { try await self.fixture.post(number, from: self.alice, to: "username:alice") }
        #expect(try await self.parked() == 3)
        #expect(try await self.wake(self.device) == 3)
        #expect(try await self.parked() == 0)
    }

    /// The fan-out adds the user as a recipient first, and the push to this device with a later
    /// page. If the device connects in between, its next search begins at newer recipients, and
    /// would miss a parked push.
    @Test func pushToADeviceOfALaterPageIsNotParked() async throws {
        let other = try await self.fixture.addDevice(of: self.alice, platform: "stream", handle: "two")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", page: 1)
        #expect(try await self.wake(self.device) == 1)
        #expect(try await self.wake(other) == 0)
        while try await self.fixture.store.expandFanout(page: 1, now: self.fixture.now) != nil {}
        #expect(try await self.parked() == 0)
        #expect(try await self.wake(other) == 1)
    }
}
