import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite struct DismissalTests {
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
        try await self.fixture.storage.claim().map(\.push.handle).sorted()
    }

    @Test func aRecipientPutsItAwayForThemselves() async throws {
        let path = try await self.post(to: "alice", "bob")
        #expect(try await self.status(path, "alice", .delete) == 204)
        #expect(try await self.status(path, "alice") == 404)
        #expect(try await self.status(path, "alice", .delete) == 404)
        #expect(try await self.status(path, "bob") == 200)
        #expect(try await self.status(path, "paul") == 200)
        #expect(try await self.waiting() == ["handle-bob"])
    }

    @Test(arguments: ["paul", "ada"]) func itsSenderOrAnAdministratorTakesItBackFromAll(user: String) async throws {
        let path = try await self.post(to: "alice", "bob")
        #expect(try await self.status(path, user, .delete) == 204)
        for name in ["alice", "bob", "paul", "ada"] {
            #expect(try await self.status(path, name) == 404)
            #expect(try await self.status(path, name, .delete) == 404)
        }
        #expect(try await self.waiting() == [])
        #expect(try self.fixture.storage.reader.tallies()["apns"]?.cancelled == 2)
    }

    @Test func anAdministratorWhoIsARecipientPutsItAwayFirst() async throws {
        let path = try await self.post(to: "alice", "ada")
        #expect(try await self.status(path, "ada", .delete) == 204)
        #expect(try await self.status(path, "alice") == 200)
        #expect(try await self.status(path, "ada", .delete) == 204)
        #expect(try await self.status(path, "alice") == 404)
    }

    @Test func aTokenThatMayNotSendTakesNothingBack() async throws {
        let path = try await self.post(to: "alice", "paul")
        let order = #"{"Scopes":["fetch"]}"#
        let session = try await self.fixture.send(.post, Paths.sessions, user: "paul", body: order)
        let token = try #require(session.json["Token"]?.text)
        let bearer = [("Authorization", "Bearer \(token)")]
        #expect(try await self.fixture.send(.delete, path, user: nil, headers: bearer).status == .noContent)
        #expect(try await self.status(path, "alice") == 200)
        #expect(try await self.fixture.send(.delete, path, user: nil, headers: bearer).status == .notFound)
    }

    @Test func anothersAndNoneAreOneAnswer() async throws {
        let path = try await self.post(to: "alice")
        let id = [("X-Request-Id", "same")]
        let foreign = try await self.fixture.send(.delete, path, user: "bob", headers: id)
        let missing = try await self.fixture.send(.delete, Paths.notification(1), user: "bob", headers: id)
        #expect(foreign.status == .notFound)
        #expect(foreign.body == missing.body)
        #expect(foreign.fields == missing.fields)
        #expect(try await self.status(path, "alice") == 200)
    }

    @Test func whatHasExpiredCannotBePutAway() async throws {
        let path = try await self.post(to: "alice")
        self.fixture.clock.advance(by: 2_592_000)
        #expect(try await self.status(path, "alice", .delete) == 404)
        #expect(try await self.status(path, "paul", .delete) == 404)
    }
}
