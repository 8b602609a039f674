import Foundation
import PushAPI
import PushCore
import PushDelivery
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost_demo

/// Events of the whole product, with real sockets, a simulated provider, and a receiver that
/// verifies signatures.
@Suite(.timeLimit(.minutes(5))) struct EventTests {
    private let folder: TemporaryFolder
    private let hook: WebhookSimulator
    private let events: Configuration.Events

    init() throws {
        self.folder = try TemporaryFolder()
        let authority = try TestAuthority()
        try authority.write(to: self.folder.file("ca.pem"))
        self.hook = try WebhookSimulator(authority: authority)
        try self.folder.writeSecret(self.hook.secret, to: "events.secret")
        var events = Configuration.Events()
        events.webhook = .init(url: self.hook.url, secretFile: self.folder.file("events.secret"))
        events.webhook?.caFile = self.folder.file("ca.pem")
        self.events = events
    }

    private func run(_ body: @escaping @Sendable (Stack) async throws -> Void) async throws {
        try await self.hook.whileRunning { _ in
            try await Stack.run {
                $0.events = self.events
            } _: {
                try await body($0)
            }
        }
    }

    /// Registers a phone of alice. Returns the registration id.
    private func register(in stack: Stack) async throws -> String {
        let issued = try await stack.send(stack.request("POST", "/api/register")).text
        let id = String(issued.dropFirst().dropLast())
        let body = #"{"Platform":"apns","Handle":"\#(String(repeating: "ab", count: 32))"}"#
        #expect(try await stack.send(stack.request("PUT", "/api/register/\(id)", body: body)).status == 200)
        return id
    }

    private func post(in stack: Stack) async throws -> Int {
        let body = #"{"Payload":"canary","To":["username:alice"]}"#
        let posted = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
        return try #require(try posted.member("Id") as? Int)
    }

    /// All events that the receiver has accepted, in order.
    private var taken: [[String: Any]] {
        get throws {
            try self.hook.pushes.received.filter(\.verdict.isAccepted).flatMap { push in
                let json = try JSONSerialization.jsonObject(with: Data(push.request.body)) as? [String: Any]
                let data = try #require(json?["data"] as? [String: Any])
                return try #require(data["Events"] as? [[String: Any]])
            }
        }
    }

    @Test func theReceiverGetsTheAcceptedAndTheCollectedEvent() async throws {
        try await self.run { stack in
            let device = try await self.register(in: stack)
            let id = try await self.post(in: stack)
            _ = try await stack.providers.apns.pushes.acceptedPush(1)
            #expect(try await stack.send(stack.request("GET", "/api/notifications/\(id)")).status == 200)
            try await eventually { try self.taken.count == 2 }
            let events = try self.taken
            let kinds = events.compactMap { $0["Kind"] as? String }
            #expect(kinds.sorted() == ["accepted", "collected"])
            let accepted = try #require(events.first { $0["Kind"] as? String == "accepted" })
            #expect(accepted["Notification"] as? Int == id)
            #expect(accepted["Device"] as? String == device)
            #expect(accepted["User"] as? String == "alice")
            #expect(accepted["Platform"] as? String == "apns")
            let list = try await stack.send(stack.request("GET", "/api/events?since=0", as: "boss"))
            #expect(try (list.member("Events") as? [[String: Any]])?.count == 2)
            for push in self.hook.pushes.received {
                #expect(!String(decoding: push.request.body, as: UTF8.self).contains("canary"))
            }
            let status = stack.application.parts.eventStatus
            try await eventually { status.counts.delivered == 2 }
        }
    }

    @Test func aMessageHasTheShapeOfTheDocumentation() async throws {
        let page = try Repository.text(of: "docs/operate/events.md")
        let block = try #require(page.firstMatch(of: /```json\n(\{"type":"sealpost.events"(?s).*?)```/)).output.1
        let example = try JSONValue(reading: Array(block.replacing(", …]", with: "]").utf8))
        try await self.run { stack in
            _ = try await self.register(in: stack)
            _ = try await self.post(in: stack)
            try await eventually { try self.taken.count == 1 }
            let push = try #require(self.hook.pushes.received.filter(\.verdict.isAccepted).first)
            let message = try JSONValue(reading: push.request.body)
            #expect(Self.shape(message) == Self.shape(example))
            #expect(message["type"] == example["type"])
        }
    }

    /// Returns the names of the members, including nested ones.
    private static func shape(_ value: JSONValue) -> [String] {
        switch value {
        case .object(let members): members.flatMap { [$0.name] + Self.shape($0.value).map { " \($0)" } }
        case .array(let elements): elements.flatMap(Self.shape)
        default: []
        }
    }

    @Test func aReloadTakesAGoodSecretAndIgnoresABadOne() async throws {
        try self.folder.writeSecret(String(repeating: "x", count: 24), to: "events.secret")
        try await self.run { stack in
            let parts = stack.application.parts
            _ = try await self.register(in: stack)
            _ = try await self.post(in: stack)
            try await eventually { parts.eventStatus.isPaused }
            try self.folder.writeSecret("short", to: "events.secret")
            await parts.reload()
            #expect(parts.eventStatus.isPaused)
            try self.folder.writeSecret(self.hook.secret, to: "events.secret")
            await parts.reload()
            try await eventually { try self.taken.count == 1 }
            #expect(!parts.eventStatus.isPaused)
        }
    }

    @Test func anAdministratorSeesTheReceiversMetrics() async throws {
        self.hook.pushes.answerNext(status: 500)
        try await self.run { stack in
            try await stack.addUser("ada", role: .admin)
            _ = try await self.register(in: stack)
            _ = try await self.post(in: stack)
            try await eventually { try self.taken.count == 1 }
            let lines = [
                "sealpost_events_delivered_total 1", "sealpost_event_message_failures_total 1",
                "sealpost_events_dropped_total 0", "sealpost_events_paused 0", "sealpost_events_waiting 0",
                "sealpost_events_oldest_waiting_seconds 0",
            ]
            try await eventually {
                let metrics = try await stack.send(stack.request("GET", "/metrics", as: "ada")).text
                return lines.allSatisfy { metrics.contains("\n\($0)\n") }
            }
            let ready = try await stack.send(stack.request("GET", "/readyz"))
            #expect(ready.status == 200)
        }
    }

    @Test func doctorTriesTheReceiver() async throws {
        var configuration = Configuration()
        configuration.database = self.folder.file("sealpost.db")
        configuration.keys = self.folder.path
        configuration.events = self.events
        let doctor = Doctor(configuration: configuration)
        @Sendable func findings(online: Bool) async throws -> [Finding] {
            try await doctor.examine(online: online).filter { $0.subject == "events.webhook" }
        }
        #expect(try await findings(online: false) == [Finding(.ok, "events.webhook", "the secret can be used")])
        let reached = try await self.hook.whileRunning { _ in try await findings(online: true) }
        #expect(reached.last == Finding(.ok, "events.webhook", "\(self.hook.url) answers with 405"))
        try self.folder.writeSecret("short", to: "events.secret")
        #expect(try await findings(online: true).map(\.grade) == [.fail])
        #expect(try await findings(online: true).first?.text.hasPrefix("events.webhook.secretFile: must be") == true)
    }
}
