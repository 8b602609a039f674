import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.eachReader, .timeLimit(.minutes(5))) struct DismissalTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func post(to users: String...) async throws -> String {
        for user in users {
            try await self.fixture.storage.addDevice(of: self.fixture.storage.user(user), handle: "handle-\(user)")
        }
        let names = users.map { "\"username:\($0)\"" }.joined(separator: ",")
        return try await self.fixture.post("{\"Payload\":\"x\",\"To\":[\(names)]}")
    }

    private func status(_ path: String, _ user: String, _ method: HTTPRequest.Method = .get) async throws -> Int {
        try await self.fixture.send(method, path, user: user).status.code
    }

    private func waiting() async throws -> [String] {
        try await self.fixture.storage.lease().map(\.push.handle).sorted()
    }

    @Test func aRecipientDismissesANotificationForItself() async throws {
        let path = try await self.post(to: "alice", "bob")
        #expect(try await self.status(path, "alice", .delete) == 204)
        #expect(try await self.status(path, "alice") == 404)
        #expect(try await self.status(path, "alice", .delete) == 404)
        #expect(try await self.status(path, "bob") == 200)
        #expect(try await self.status(path, "paul") == 200)
        #expect(try await self.waiting() == ["handle-bob"])
    }

    @Test(arguments: ["paul", "ada"]) func theSenderOrAnAdministratorRecallsANotification(user: String) async throws {
        let path = try await self.post(to: "alice", "bob")
        #expect(try await self.status(path, user, .delete) == 204)
        for name in ["alice", "bob", "paul", "ada"] {
            #expect(try await self.status(path, name) == 404)
            #expect(try await self.status(path, name, .delete) == 404)
        }
        #expect(try await self.waiting() == [])
        #expect(try await self.fixture.storage.reader.tallies()["apns"]?.cancelled == 2)
    }

    @Test func anAdministratorWhoIsARecipientDismissesFirst() async throws {
        let path = try await self.post(to: "alice", "ada")
        #expect(try await self.status(path, "ada", .delete) == 204)
        #expect(try await self.status(path, "alice") == 200)
        #expect(try await self.status(path, "ada", .delete) == 204)
        #expect(try await self.status(path, "alice") == 404)
    }

    @Test func aTokenWithoutTheSendScopeRecallsNothing() async throws {
        let path = try await self.post(to: "alice", "paul")
        let order = #"{"Scopes":["fetch"]}"#
        let session = try await self.fixture.send(.post, Paths.sessions, user: "paul", body: order)
        let token = try #require(session.json["Token"]?.text)
        let bearer = [("Authorization", "Bearer \(token)")]
        #expect(try await self.fixture.send(.delete, path, user: nil, headers: bearer).status == .noContent)
        #expect(try await self.status(path, "alice") == 200)
        #expect(try await self.fixture.send(.delete, path, user: nil, headers: bearer).status == .notFound)
    }

    @Test func foreignAndMissingNotificationsGetTheSameRefusal() async throws {
        let path = try await self.post(to: "alice")
        let id = [("X-Request-Id", "same")]
        let foreign = try await self.fixture.send(.delete, path, user: "bob", headers: id)
        let missing = try await self.fixture.send(.delete, Paths.notification(1), user: "bob", headers: id)
        #expect(foreign.status == .notFound)
        #expect(foreign.body == missing.body)
        #expect(foreign.fields == missing.fields)
        #expect(try await self.status(path, "alice") == 200)
    }

    // MARK: Preconditions

    @Test(arguments: ["alice", "paul"]) func aDeletionRequiresItsPrecondition(user: String) async throws {
        let path = try await self.post(to: "alice", "bob")
        let tag = try #require(try await self.fixture.send(.get, path, user: user).fields[.eTag])
        for (name, value) in [
            ("If-Match", "\"other\""), ("If-Match", "W/\(tag)"), ("If-None-Match", tag), ("If-None-Match", "*"),
            ("If-Unmodified-Since", DateForm.fixed.text(self.fixture.clock.now - 1)),
        ] {
            let response = try await self.fixture.send(.delete, path, user: user, headers: [(name, value)])
            try response.expectProblem(.preconditionFailed)
        }
        #expect(try await self.status(path, "alice") == 200)
        let headers = [("If-Match", tag)]
        #expect(try await self.fixture.send(.delete, path, user: user, headers: headers).status == .noContent)
        try await self.fixture.send(.delete, path, user: user, headers: headers).expectProblem(.notFound)
    }

    @Test func ifMatchFailsForAnAdministratorWhoIsNotARecipient() async throws {
        let path = try await self.post(to: "alice")
        let any = [("If-Match", "*")]
        try await self.fixture.send(.delete, path, user: "bob", headers: any).expectProblem(.notFound)
        try await self.fixture.send(.delete, path, user: "ada", headers: any).expectProblem(.preconditionFailed)
        let missing = Paths.notification(1)
        try await self.fixture.send(.delete, missing, user: "ada", headers: any).expectProblem(.notFound)
        let none = [("If-None-Match", "*")]
        #expect(try await self.fixture.send(.delete, path, user: "ada", headers: none).status == .noContent)
    }

    @Test func aNotificationInAnotherReadStateIsNotDismissed() async throws {
        let path = try await self.post(to: "alice")
        let id = try #require(path.split(separator: "/").last.flatMap { Int64($0) }.flatMap(NotificationID.init))
        let (store, alice) = (self.fixture.storage.store, try await self.fixture.storage.user("alice").id)
        let now = self.fixture.clock.now
        #expect(try await store.mark(id, as: .read, by: alice, ifStill: .read, now: now) == .changed)
        #expect(try await !store.dismiss(id, by: alice, ifStill: .read, recording: nil, now: now))
        #expect(try await store.dismiss(id, by: alice, ifStill: .unread, recording: nil, now: now))
    }

    @Test func anExpiredNotificationCannotBeDismissed() async throws {
        let path = try await self.post(to: "alice")
        self.fixture.clock.advance(by: 2_592_000)
        #expect(try await self.status(path, "alice", .delete) == 404)
        #expect(try await self.status(path, "paul", .delete) == 404)
    }
}
