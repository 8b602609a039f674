import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The owner of a registration's id and handle, and the effects of a registration on other
/// registrations with the same id or handle.
@Suite(.timeLimit(.minutes(5))) struct RegistrationOwnersTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    /// Registers a device under this id, which is first issued to the user unless another user has
    /// it.
    private func put(_ id: String, handle: String, user: String = "alice") async throws -> Response {
        try await self.fixture.issue(id, to: user)
        let body = #"{"Platform":"apns","Handle":"\#(handle)"}"#
        return try await self.fixture.send(.put, Paths.registration(id), user: user, body: body)
    }

    private func list(user: String = "alice") async throws -> String {
        try await self.fixture.send(.get, Paths.register, user: user).text
    }

    /// Leases all queued pushes, and returns their number.
    private func waitingPushes() async throws -> Int {
        try await self.fixture.storage.lease().count
    }

    // MARK: Gone

    @Test func aHandleRegisteredAgainRetiresTheOldRegistration() async throws {
        #expect(try await self.put("old", handle: "aa").status == .ok)
        #expect(try await self.put("new", handle: "AA").status == .ok)
        try await self.put("old", handle: "aa").expectProblem(.registrationGone, "registered again")
        // After this answer, the clients of Microsoft's tutorial drop the id, request another one,
        // and register again.
        let id = try await self.fixture.requestRegistration(handle: "aa")
        #expect(try await self.put(id, handle: "aa").status == .ok)
        #expect(try await self.list().contains("\"\(id)\""))
    }

    @Test func aRegistrationRetiredByItsProviderIsGone() async throws {
        #expect(try await self.put("one", handle: "aa").status == .ok)
        let (store, now) = (self.fixture.storage.store, self.fixture.clock.now)
        let devices = try await self.fixture.storage.reader.devices(ofUser: self.fixture.storage.user("alice").id)
        let device = try #require(devices.first)
        #expect(
            try await store.retire(
                device: device.number,
                handle: "aa",
                in: Lane(Platform("apns")),
                reason: "apns: Unregistered",
                since: now,
                now: now
            ) != nil
        )
        #expect(try await self.list() == "[]")
        try await self.put("one", handle: "aa").expectProblem(.registrationGone, "apns: Unregistered")
        try await self.put("one", handle: "bb").expectProblem(.registrationGone)
    }

    @Test func aDeletedIDIsGone() async throws {
        #expect(try await self.put("one", handle: "aa").status == .ok)
        try await self.fixture.send(.delete, "/api/register/one")
        let response = try await self.fixture.send(
            .put,
            "/api/register/one",
            body: #"{"Platform":"apns","Handle":"aa"}"#
        )
        try response.expectProblem(.registrationGone, "not issued to this user")
    }

    // MARK: Foreign

    @Test func anotherUsersRegistrationIDIsGone() async throws {
        #expect(try await self.put("one", handle: "aa").status == .ok)
        try await self.put("one", handle: "bb", user: "bob").expectProblem(.registrationGone)
        #expect(try await self.list(user: "bob") == "[]")
        #expect(try await self.list().contains("\"one\""))
    }

    @Test func anUnusedIDOfAnotherUserIsGone() async throws {
        let id = try await self.fixture.requestRegistration()
        try await self.put(id, handle: "bb", user: "bob").expectProblem(.registrationGone)
        #expect(try await self.put(id, handle: "bb").status == .ok)
    }

    @Test func aHandleMovesToItsLastUserAndOldPushesAreCancelled() async throws {
        #expect(try await self.put("one", handle: "aa").status == .ok)
        _ = try await self.fixture.post(#"{"Payload":"for alice alone"}"#, user: "alice")
        let id = try await self.fixture.requestRegistration(user: "bob", handle: "aa")
        #expect(id != "one", "an id does not change hands")
        #expect(try await self.put(id, handle: "aa", user: "bob").status == .ok)
        #expect(try await self.list(user: "bob").contains("\"\(id)\""))
        #expect(try await self.waitingPushes() == 0)
        try await self.put("one", handle: "aa").expectProblem(.registrationGone, "by another user")
    }

    @Test func pushesReachOnlyTheAddressedUsersDevices() async throws {
        #expect(try await self.put("one", handle: "aa").status == .ok)
        #expect(try await self.put("two", handle: "bb", user: "bob").status == .ok)
        _ = try await self.fixture.post(#"{"Payload":1,"To":["username:bob"]}"#)
        let leased = try await self.fixture.storage.lease()
        #expect(leased.count == 1)
        #expect(self.fixture.wakeUps.count == 1)
    }

    // MARK: Deleting

    @Test func deletingARegistrationIsIdempotent() async throws {
        #expect(try await self.put("one", handle: "aa").status == .ok)
        for _ in 0..<3 {
            let response = try await self.fixture.send(.delete, "/api/register/one")
            #expect(response.status.code == 200)
            #expect(response.body.isEmpty)
            #expect(try await self.list() == "[]")
        }
    }

    @Test func aForeignRegistrationIsNeitherDeletedNorRevealed() async throws {
        #expect(try await self.put("one", handle: "aa").status == .ok)
        for user in ["bob", "paul", "ada"] {
            let response = try await self.fixture.send(.delete, "/api/register/one", user: user)
            #expect(response.status.code == 200)
            #expect(response.body.isEmpty)
        }
        #expect(try await self.list().contains("\"one\""))
    }
}
