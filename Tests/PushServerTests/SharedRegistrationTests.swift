import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Registrations with `"Shared": true`, by which several accounts share a device, and what a
/// hostile user gains from them.
@Suite(.timeLimit(.minutes(5))) struct SharedRegistrationTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func register(_ user: String, shared: String?) async throws -> (id: String, response: Response) {
        let id = try await self.fixture.requestRegistration(user: user)
        let member = shared.map { #","Shared":\#($0)"# } ?? ""
        let body = #"{"Platform":"apns","Handle":"aabb"\#(member)}"#
        return (id, try await self.fixture.send(.put, Paths.registration(id), user: user, body: body))
    }

    private func list(_ user: String) async throws -> String {
        try await self.fixture.send(.get, Paths.register, user: user).text
    }

    @Test func bothUsersKeepASharedHandle() async throws {
        for user in ["alice", "bob"] {
            #expect(try await self.register(user, shared: "true").response.status == .ok)
        }
        for user in ["alice", "bob"] {
            let list = try await self.list(user)
            #expect(list.contains(#""Shared":true"#) && !list.contains("RetiredAt"))
        }
    }

    @Test(arguments: [nil, "false"]) func anUnsharedHandleMoves(shared: String?) async throws {
        #expect(try await self.register("alice", shared: "true").response.status == .ok)
        #expect(try await self.register("bob", shared: shared).response.status == .ok)
        #expect(try await self.list("alice").contains("RetiredAt"))
        #expect(try await self.list("bob").contains(#""Shared":false"#))
    }

    @Test(arguments: [#""true""#, "1", "[]", "{}"]) func sharedMustBeTrueOrFalse(value: String) async throws {
        let response = try await self.register("alice", shared: value).response
        try response.expectProblem(.invalidMember, "Shared must be true or false")
    }

    @Test func nullDoesNotMeanUnshared() async throws {
        let response = try await self.register("alice", shared: "null").response
        try response.expectProblem(.invalidMember, "Shared must not be null")
    }

    /// The account hint in a push is an HMAC whose secret key is the id of the registration. An id
    /// that a client chose can be guessed, so the server demands a new id before it shares the
    /// device.
    @Test func aGuessableIDMustBeReplacedFirst() async throws {
        try await self.fixture.issue("my-phone", to: "alice")
        let body = #"{"Platform":"apns","Handle":"aabb","Shared":true}"#
        let response = try await self.fixture.send(.put, Paths.registration("my-phone"), user: "alice", body: body)
        try response.expectProblem(.registrationGone, "request a new one")
    }

    @Test func sharingAForeignHandleGivesNoAccess() async throws {
        let honest = try await self.register("alice", shared: nil)
        let hostile = try await self.register("bob", shared: "true")
        #expect(hostile.response.status == .ok)
        // Alice's device is unchanged, and a notification for her is pushed once, without an
        // account hint.
        #expect(try await self.list("alice").contains(honest.id))
        let posted = try await self.fixture.send(
            .post,
            "/api/notifications?to_tag=alice",
            user: "paul",
            body: #""for alice alone""#
        )
        #expect(posted.status == .ok || posted.status == .created)
        let pushes = try await self.fixture.storage.lease().map(\.push)
        let push = try #require(pushes.first)
        #expect(pushes.count == 1)
        #expect(push.accountHint == nil)
        // Bob knows the id of alice's push, because the device whose handle he registered has
        // received it. He gets the same answer as for an unknown id.
        let path = Paths.notification(push.notification.rawValue)
        let answer = try await self.fixture.send(.get, path, user: "bob")
        try answer.expectProblem(.notFound)
        #expect(!answer.text.contains("for alice alone"))
        #expect(try await !self.fixture.send(.get, Paths.notifications, user: "bob").text.contains("for alice alone"))
        #expect(try await self.fixture.send(.get, path, user: "alice").text.contains("for alice alone"))
        // Notifications for bob reach the device whose handle he registered, with an account hint
        // that differs from alice's.
        let toBob = "/api/notifications?to_tag=bob"
        _ = try await self.fixture.send(.post, toBob, user: "paul", body: #""for bob""#)
        let own = try #require(try await self.fixture.storage.lease().map(\.push).first)
        let id = try #require(RegistrationID(hostile.id))
        let hers = AccountHint(own.notification, of: try #require(RegistrationID(honest.id)))
        #expect(own.handle == "aabb")
        #expect(own.accountHint == AccountHint(own.notification, of: id))
        #expect(own.accountHint != hers)
    }
}
