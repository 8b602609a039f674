import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// Two servers change users and devices of one database at the same time.
@Suite(.timeLimit(.minutes(5))) struct AccountRaceTests {
    private let fixture: StoreFixture
    /// The stores of two servers.
    private let stores: [any Store]

    init() throws {
        self.fixture = try StoreFixture(.postgreSQL)
        self.stores = [self.fixture.store, try self.fixture.reopened().store]
    }

    /// Runs all elements of `work` at the same time, every second one on the second server.
    /// Returns the outcomes in the order of `work`.
    private func atOnce<Work: Sendable, Outcome: Sendable>(
        _ work: [Work],
        _ body: @escaping @Sendable (Work, any Store) async throws -> Outcome
    ) async throws -> [Outcome] {
        try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
            for (index, work) in work.enumerated() {
                let store = self.stores[index % self.stores.count]
                group.addTask { (index, try await body(work, store)) }
            }
            var outcomes: [(Int, Outcome)] = []
            for try await outcome in group { outcomes.append(outcome) }
            return outcomes.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private func registration(_ handle: String) throws -> DeviceRegistration {
        let platform = Platform("apns")
        return DeviceRegistration(
            platform: platform,
            lane: Lane(platform),
            handle: try #require(DeviceHandle(handle)),
            tags: []
        )
    }

    private func issued(to users: [User]) async throws -> [(User, RegistrationID)] {
        var ids: [(User, RegistrationID)] = []
        for user in users {
            let id = try await self.fixture.store.requestRegistration(
                ofUser: user.id,
                handle: nil,
                now: self.fixture.now
            )
            ids.append((user, id))
        }
        return ids
    }

    // MARK: Users

    @Test func simultaneousRequestsCreateANameOnce() async throws {
        let (now, name) = (self.fixture.now, try #require(Username("alice")))
        let outcomes = try await self.atOnce(Array(0..<10)) { number, store in
            try await store.addUser(name, role: .device, password: PasswordHash(phc: "\(number)"), now: now)
        }
        #expect(outcomes.count { $0 } == 1)
        #expect(try await self.fixture.user("alice").name == name)
    }

    @Test(arguments: 0..<5) func theLastAdministratorSurvivesSimultaneousRemovals(round: Int) async throws {
        let administrators = [
            try await self.fixture.addUser("ada", role: .admin), try await self.fixture.addUser("grace", role: .admin),
        ]
        let now = self.fixture.now
        let outcomes = try await self.atOnce(administrators) { user, store in
            round.isMultiple(of: 2)
                ? try await store.deleteUser(user.name, by: nil)
                : try await store.changeUser(user.name, role: .device, now: now)
        }
        #expect(outcomes.count { $0 == .done } == 1)
        #expect(outcomes.count { $0 == .lastAdministrator } == 1)
    }

    // MARK: Devices

    @Test func aHandleRegisteredByManyAtOnceHasOneOwner() async throws {
        var users: [User] = []
        for number in 0..<8 { users.append(try await self.fixture.addUser("user\(number)")) }
        let (now, registration) = (self.fixture.now, try self.registration("abc"))
        let outcomes = try await self.atOnce(try await self.issued(to: users)) { issued, store in
            try await store.register(registration, as: issued.1, for: issued.0, now: now)
        }
        #expect(outcomes.allSatisfy { $0 == .registered(moved: 0) })
        var holders = 0
        for user in users { holders += try await self.fixture.reader.devices(ofUser: user.id).count }
        #expect(holders == 1)
    }

    @Test func usersWhoSwapHandlesDoNotBlockEachOther() async throws {
        let users = [try await self.fixture.addUser("alice"), try await self.fixture.addUser("bob")]
        let now = self.fixture.now
        for round in 0..<10 {
            let ids = try await self.issued(to: users)
            for (index, (user, id)) in ids.enumerated() {
                let registration = try self.registration("\(round)-\(index)")
                _ = try await self.fixture.store.register(registration, as: id, for: user, now: now)
            }
            let others = try (0..<2).map { try self.registration("\(round)-\(1 - $0)") }
            let outcomes = try await self.atOnce([0, 1]) { index, store in
                try await store.register(others[index], as: ids[index].1, for: ids[index].0, now: now)
            }
            // Either one registration retires the other, or both succeed.
            #expect(outcomes.contains(.registered(moved: 0)))
        }
    }

    @Test func simultaneousRegistrationsRespectTheDeviceLimit() async throws {
        let alice = try await self.fixture.addUser("alice")
        let bounds = try #require(StorageBounds(devices: 1, notifications: 10, bytes: 1000))
        let now = self.fixture.now
        let registrations = try (0..<4).map { try self.registration("handle-\($0)") }
        let ids = try await self.issued(to: Array(repeating: alice, count: 4))
        let outcomes = try await self.atOnce(Array(0..<4)) { index, store in
            try await store.register(registrations[index], as: ids[index].1, for: alice, within: bounds, now: now)
        }
        #expect(outcomes.count { $0 == .registered(moved: 0) } == 1)
        #expect(outcomes.count { $0 == .tooMany } == 3)
    }

    @Test func deletingADeviceDuringItsRegistrationLeavesNothing() async throws {
        let alice = try await self.fixture.addUser("alice")
        let (now, registration) = (self.fixture.now, try self.registration("abc"))
        for _ in 0..<5 {
            let id = try await self.fixture.addDevice(of: alice, handle: "abc", tags: ["news"])
            try await self.fixture.post(.random(in: 1 ... .max), from: alice, to: "username:alice")
            _ = try await self.atOnce([true, false]) { isRegistering, store in
                if isRegistering {
                    _ = try await store.register(registration, as: id, for: alice, now: now)
                } else {
                    _ = try await store.unregister(id, ofUser: alice.id)
                }
            }
            #expect(try await self.fixture.reader.devices(ofUser: alice.id).isEmpty)
        }
        #expect(try await self.fixture.lease().isEmpty)
        let tally = try await self.fixture.reader.tallies()["apns"]
        #expect(tally?.enqueued == 5)
        #expect(tally?.cancelled == 5)
    }
}
