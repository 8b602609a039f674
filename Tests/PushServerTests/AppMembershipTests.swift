import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Senders and recipients who have left an app can do nothing with its notifications.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct AppMembershipTests {
    private static let bank = AppName("bank") ?? .usual

    private let fixture: ServerFixture
    private let device: String

    /// Alice and the publisher Paul belong to the default app and to the bank; Alice has a device
    /// of the bank.
    init() async throws {
        let rules = [
            Platform("apns"): ServerSettings.PlatformRule(SampleHandleRule()),
            Platform("apns", of: Self.bank): ServerSettings.PlatformRule(SampleHandleRule()),
        ]
        self.fixture = try await ServerFixture(settings: .forTests(\.platforms, rules))
        for user in ["alice", "paul"] { try await Self.setApps(["default", "bank"], of: user, self.fixture) }
        let alice = try await self.fixture.storage.user("alice")
        self.device = try await self.fixture.storage.addDevice(of: alice, platform: "bank:apns", handle: "b1")
            .description
    }

    private static func setApps(_ names: [String], of user: String, _ fixture: ServerFixture) async throws {
        let body = #"{"Apps":[\#(names.map { "\"\($0)\"" }.joined(separator: ","))]}"#
        #expect(try await fixture.send(.patch, Paths.user(user), user: "ada", body: body).status == .noContent)
    }

    /// Posts a notification of the bank for Alice.
    private func post(_ more: String = "") async throws -> String {
        try await self.fixture.post(#"{"App":"bank","Payload":1,"To":["username:alice"]\#(more)}"#)
    }

    private func ask(_ action: Action, _ path: String, by user: String) async throws -> Response {
        try await self.fixture.send(
            action.method,
            path + action.suffix.replacing("DEVICE", with: self.device),
            user: user,
            headers: [("X-Request-Id", "same"), ("MyToken", "7")] + action.headers,
            body: action.body
        )
    }

    struct Action: Sendable {
        let method: HTTPRequest.Method
        var suffix = ""
        var headers: [(String, String)] = []
        var body = ""
    }

    private static let actions = [
        Action(method: .get), Action(method: .head), Action(method: .get, suffix: "/deliveries"),
        Action(method: .get, suffix: "/recipients"),
        Action(method: .post, suffix: "/deliveries/DEVICE"), Action(method: .delete, suffix: "/deliveries/DEVICE"),
        Action(method: .patch, body: #"{"Read":true}"#), Action(method: .post, suffix: "/taken"),
        Action(method: .delete, headers: [("If-Match", "\"x\"")]), Action(method: .delete),
    ]

    @Test func aSenderWhoHasLeftTheAppFindsNothingOfIt() async throws {
        let path = try await self.post()
        try await Self.setApps(["default"], of: "paul", self.fixture)
        for action in Self.actions {
            let left = try await self.ask(action, path, by: "paul")
            let missing = try await self.ask(action, "\(Paths.notifications)/1", by: "paul")
            #expect(left.status == .notFound, "\(action)")
            #expect(left.body == missing.body, "\(action)")
            #expect(left.fields == missing.fields, "\(action)")
        }
        #expect(try await self.fixture.send(.get, path).status == .ok, "it was not recalled")
        #expect(try await self.fixture.storage.lease("bank:apns").count == 1, "nothing was cancelled")
        try await Self.setApps(["default", "bank"], of: "paul", self.fixture)
        #expect(try await self.fixture.send(.get, "\(path)/deliveries", user: "paul").status == .ok)
    }

    @Test(arguments: ["", #","ReadOnce":true"#])
    func aRecipientWhoHasLeftTheAppChangesNothing(more: String) async throws {
        let path = try await self.post(more)
        #expect(try await self.fixture.send(.get, path).status == .ok)
        try await Self.setApps(["default"], of: "alice", self.fixture)
        for action in Self.actions where !action.suffix.contains(/deliveries|recipients/) {
            let left = try await self.ask(action, path, by: "alice")
            let missing = try await self.ask(action, "\(Paths.notifications)/1", by: "alice")
            #expect(left.status == .notFound, "\(action)")
            #expect(left.body == missing.body && left.fields == missing.fields, "\(action)")
        }
        let id = try #require(path.split(separator: "/").last)
        let read = try await self.fixture.send(.post, Paths.readNotifications, body: #"{"Ids":[\#(id)]}"#)
        #expect(read.text == #"{"Read":[]}"#)
        try await Self.setApps(["default", "bank"], of: "alice", self.fixture)
        let seen = try await self.fixture.send(.get, path)
        #expect(seen.status == .ok, "it was neither dismissed nor taken")
    }

    @Test func aSenderWhoHasLeftTheAppReadsNoEventsOfIt() async throws {
        let path = try await self.post()
        for delivery in try await self.fixture.storage.lease("bank:apns") {
            try await self.fixture.storage.settle(delivery, as: .accepted(providerID: nil))
        }
        #expect(try await self.fixture.send(.get, path).status == .ok)
        try await self.fixture.storage.store.writeReceipts()
        let events = { try await self.fixture.send(.get, Paths.events, user: "paul").text }
        #expect(try await events().contains(#""Kind":"collected""#))
        try await Self.setApps(["default"], of: "paul", self.fixture)
        #expect(try await events().contains(#""Events":[]"#))
    }
}
