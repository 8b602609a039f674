import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct EventListTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
        let alice = try await self.fixture.storage.user("alice")
        try await self.fixture.storage.addDevice(of: alice, handle: "handle", tags: ["all"])
    }

    private func events(_ query: String = "", user: String = "paul") async throws -> Response {
        try await self.fixture.send(.get, Paths.events + query, user: user)
    }

    private func list(_ response: Response) throws -> [JSONValue] {
        guard case .array(let entries) = try response.json["Events"] else { return [] }
        return entries
    }

    /// Posts a notification and settles its pushes. Returns the notification's path.
    private func post(user: String = "paul", as settlement: Settlement) async throws -> String {
        let path = try await self.fixture.post(#"{"Payload":"canary","To":["all"]}"#, user: user)
        for delivery in try await self.fixture.storage.lease() {
            try await self.fixture.storage.settle(delivery, as: settlement)
        }
        return path
    }

    private func number(of path: String) throws -> Int {
        try #require(Int(path.split(separator: "/").last ?? ""))
    }

    @Test func eachEventDescribesItsOutcomeWithoutThePayload() async throws {
        let path = try await self.post(as: .failed(reason: "BadDeviceToken"))
        #expect(try await self.fixture.send(.get, path, user: "alice").status == .ok)
        try await self.fixture.storage.store.writeReceipts()
        let response = try await self.events()
        let events = try self.list(response)
        let devices = try await self.fixture.storage.reader.devices(ofUser: self.fixture.storage.user("alice").id)
        let number = try #require(events.first?["Number"]?.integer)
        #expect(
            events == [
                .object([
                    .init("Number", .number(number)),
                    .init("At", .string(self.fixture.clock.now.rfc3339)),
                    .init("Kind", .string("failed")),
                    .init("Notification", .number(try self.number(of: path))),
                    .init("Device", .string(try #require(devices.first).id.description)),
                    .init("User", .string("alice")),
                    .init("App", .string("default")),
                    .init("Platform", .string("apns")),
                    .init("Reason", .string("BadDeviceToken")),
                ]),
                .object([
                    .init("Number", .number(number + 1)),
                    .init("At", .string(self.fixture.clock.now.rfc3339)),
                    .init("Kind", .string("collected")),
                    .init("Notification", .number(try self.number(of: path))),
                    .init("Device", .null),
                    .init("User", .string("alice")),
                    .init("App", .null),
                    .init("Platform", .null),
                    .init("Reason", .null),
                ]),
            ]
        )
        #expect(try response.json["Cursor"] == .string("\(number + 1)"))
        #expect(!response.text.contains("canary"))
        #expect(response.fields[.cacheControl] == "no-store")
    }

    @Test func aPublisherListsItsOwnEventsAndAnAdministratorAll() async throws {
        let own = try self.number(of: try await self.post(as: .accepted(providerID: nil)))
        let other = try self.number(of: try await self.post(user: "ada", as: .accepted(providerID: nil)))
        #expect(try self.list(await self.events()).map { $0["Notification"]?.integer } == [own])
        #expect(try self.list(await self.events(user: "ada")).map { $0["Notification"]?.integer } == [own, other])
        try await self.events(user: "alice").expectProblem(.forbidden)
    }

    @Test func aCursorContinuesAfterAnEmptyList() async throws {
        let start = try await self.events()
        #expect(try self.list(start).isEmpty)
        let cursor = try #require(try start.json["Cursor"]?.text)
        #expect(try await self.events("?since=\(cursor)").text == start.text)
        _ = try await self.post(as: .accepted(providerID: nil))
        #expect(try self.list(await self.events("?since=\(cursor)")).count == 1)
        #expect(try self.list(await self.events("?cursor=\(cursor)")).count == 1)
    }

    @Test func aTruncatedListIsMarked() async throws {
        for _ in 0..<3 { _ = try await self.post(as: .accepted(providerID: nil)) }
        let first = try #require(try self.list(await self.events("?limit=1")).first?["Number"]?.integer)
        #expect(try await self.events("?cursor=\(first)").json["Truncated"] == .bool(false))
        let store = self.fixture.storage.store
        while try await store.trimEvents(before: .distantFuture, limit: 10).count > 0 {}
        let late = try await self.events("?cursor=\(first)")
        #expect(try late.json["Truncated"] == .bool(true))
        #expect(try self.list(late).count == 1)
        // A client that does not send the number of its last event cannot have missed events.
        #expect(try await self.events().json["Truncated"] == .bool(false))
    }

    @Test(arguments: [("?limit=0", "limit"), ("?limit=501", "limit"), ("?since=-1", "since"), ("?since=x", "since")])
    func anInvalidLimitOrCursorIsRefused(query: String, word: String) async throws {
        try await self.events(query).expectProblem(.invalidParameter, word)
    }

    @Test func theListIsNotFoundIfEventsAreOff() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.events, .off))
        let response = try await fixture.send(.get, Paths.events, user: "ada")
        try response.expectProblem(.notFound, "events.keep")
    }

    @Test func theReceiversMessageHasTheFormOfTheList() async throws {
        _ = try await self.post(as: .failed(reason: "quoted \"words\""))
        let page = try await self.fixture.storage.reader.events(after: nil, ofSender: nil, limit: 10)
        let body = EventMessage.body(of: page.events, at: self.fixture.clock.now)
        let message = try JSONValue(reading: body)
        #expect(message["type"]?.text == "sealpost.events")
        #expect(message["timestamp"]?.text == self.fixture.clock.now.rfc3339)
        #expect(message["data"]?["Events"] == .array(try self.list(await self.events())))
    }
}
