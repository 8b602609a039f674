import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The answer 201 to a post contains the notification's options, and the number of users and
/// devices that the notification reaches.
@Suite(.timeLimit(.minutes(5))) struct SentNotificationTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func send(_ body: String, user: String = "paul", key: String? = nil) async throws -> JSONValue {
        let headers = key.map { [("Idempotency-Key", $0)] } ?? []
        let response = try await fixture.send(.post, Paths.notifications, user: user, headers: headers, body: body)
        try #require(response.status == .created, "\(response.text)")
        return try response.json
    }

    /// Returns the named members of an answer as JSON text.
    private static func text(_ json: JSONValue, _ names: String...) -> String {
        names.map { String(decoding: (json[$0] ?? .null).bytes, as: UTF8.self) }.joined(separator: " ")
    }

    // MARK: Options

    @Test(arguments: [
        (#"{"Payload":1}"#, #"["username:paul"] null "high" null "cacheable" false"#),
        // The members are misspelt. The answer reveals this, because the options have their
        // default values.
        (#"{"Payload":1,"ExpireIn":5,"ReadOne":true}"#, #"["username:paul"] null "high" null "cacheable" false"#),
        (
            #"{"Payload":1,"To":["b||a&&c"],"Platforms":["wns","gcm","fcm"],"Priority":"normal","CollapseKey":"k","#
                + #""Store":"never","ReadOnce":true}"#,
            #"["b || a && c"] ["fcm","wns"] "normal" "k" "never" true"#
        ),
    ])
    func theAnswerHasTheEffectiveOptions(body: String, options: String) async throws {
        let sent = try await self.send(body)
        #expect(Self.text(sent, "To", "Platforms", "Priority", "CollapseKey", "Store", "ReadOnce") == options)
        #expect(sent["Payload"] == nil)
    }

    @Test func theAnswerHasTheEffectiveExpiry() async throws {
        let (now, lifetime) = (self.fixture.clock.now, TimeInterval(2_592_000))
        #expect(try await self.send(#"{"Payload":1,"ExpireIn":5}"#)["ExpiresAt"]?.text == (now + lifetime).rfc3339)
        #expect(try await self.send(#"{"Payload":1,"ExpiresIn":5}"#)["ExpiresAt"]?.text == (now + 5).rfc3339)
    }

    // MARK: Whom it reaches

    @Test(arguments: [
        (#"["nosuchtag"]"#, "0 0 false"), (#"["news"]"#, "2 3 false"), (#"["news && beta"]"#, "1 1 false"),
        (#"["username:ada"]"#, "1 0 false"), (#"["username:alice","username:ada","news"]"#, "3 3 false"),
        (#"["username:alice","username:ALICE"]"#, "1 2 false"), (#"["!news"]"#, "0 0 false"),
    ])
    func recipientsAndPushesAreCounted(to: String, counts: String) async throws {
        for (user, handle, tags) in [
            ("alice", "a1", ["news"]), ("alice", "a2", ["news", "beta"]), ("bob", "b1", ["news"]),
        ] {
            let owner = try await self.fixture.storage.user(user)
            try await self.fixture.storage.addDevice(of: owner, handle: handle, tags: tags)
        }
        let sent = try await self.send(#"{"Payload":1,"To":\#(to)}"#)
        #expect(Self.text(sent, "Recipients", "Pushes", "More") == counts)
    }

    @Test func aBroadcastIsNotCountedDuringItsFanOut() async throws {
        let storage = self.fixture.storage
        let alice = try await storage.user("alice")
        for first in stride(from: 0, through: 1000, by: 10) {
            // The server keeps only the last twenty unused registration ids of a user, so the test
            // adds ten devices at a time.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in first..<first + 10 {
                    group.addTask { try await storage.addDevice(of: alice, handle: "h\(number)", tags: ["all"]) }
                }
                try await group.waitForAll()
            }
        }
        let body = #"{"Payload":1,"To":["all"]}"#
        let sent = try await self.send(body, key: "k")
        #expect(Self.text(sent, "Recipients", "Pushes", "More") == "null null true")
        while try await storage.store.expandFanout(page: nil, now: storage.now) != nil {}
        #expect(try await self.send(body, key: "k") == sent, "the first answer stands")
        #expect(Self.text(try await self.send(#"{"Payload":1,"To":["all && x"]}"#), "More") == "true")
    }

    @Test func aRepeatedRequestHasTheCountsOfTheFirst() async throws {
        let alice = try await self.fixture.storage.user("alice")
        try await self.fixture.storage.addDevice(of: alice, handle: "a1", tags: ["news"])
        let body = #"{"Payload":1,"To":["news"]}"#
        let first = try await self.send(body, key: "k")
        #expect(Self.text(first, "Recipients", "Pushes", "More") == "1 1 false")
        try await self.fixture.storage.addDevice(of: alice, handle: "a2", tags: ["news"])
        #expect(try await self.send(body, key: "k") == first)
        #expect(Self.text(try await self.send(body), "Pushes") == "2")
        let path = Paths.notification(Int64(try #require(first["Id"]?.integer)))
        #expect(try await self.fixture.send(.delete, path, user: "paul").status == .noContent)
        #expect(try await self.send(body, key: "k") == first, "also when it is gone")
    }

    // MARK: Limits of the counts

    @Test(arguments: [("alice", "device"), ("vic", "viewer")])
    func theRefusalOfOtherRecipientsNamesTheCallersRole(user: String, role: String) async throws {
        let body = #"{"Payload":1,"To":["username:bob"]}"#
        try await self.fixture.send(.post, Paths.notifications, user: user, body: body)
            .expectProblem(.forbidden, "the role \(role) may send only to its own user")
    }

    /// A user with the role device sends only to itself. The server refuses other recipients
    /// before it looks up a tag or a name.
    @Test(arguments: ["news", "nosuchtag", "username:bob", "username:nobody", "username:alice && news", "!news"])
    func aDevicesAnswerRevealsNoOtherRecipients(expression: String) async throws {
        let bob = try await self.fixture.storage.user("bob")
        try await self.fixture.storage.addDevice(of: bob, handle: "b1", tags: ["news"])
        let headers = [("X-Request-Id", "same")]
        let answers = try await [expression, "username:nobody"].asyncMap {
            let body = #"{"Payload":1,"To":["\#($0)"]}"#
            return try await fixture.send(.post, Paths.notifications, headers: headers, body: body)
        }
        try answers[0].expectProblem(.forbidden)
        #expect(answers[0].body == answers[1].body)
        #expect(Self.text(try await self.send(#"{"Payload":1}"#, user: "alice"), "Recipients", "Pushes") == "1 0")
    }

    /// The answer to the publisher's post and the later report of the deliveries give the same
    /// number of pushes.
    @Test func theAnswerAndTheReportCountTheSamePushes() async throws {
        for (user, handle) in [("alice", "a1"), ("alice", "a2"), ("bob", "b1")] {
            let owner = try await self.fixture.storage.user(user)
            try await self.fixture.storage.addDevice(of: owner, handle: handle, tags: ["news"])
        }
        let sent = try await self.send(#"{"Payload":1,"To":["news"]}"#)
        let path = Paths.notification(Int64(try #require(sent["Id"]?.integer)))
        let report = try await self.fixture.send(.get, "\(path)/deliveries", user: "paul").json
        guard case .array(let pushes)? = report["Deliveries"] else { throw StoreFixture.Missing("no deliveries") }
        #expect(sent["Pushes"] == .number(pushes.count))
        #expect(sent["Recipients"] == .number(Set(pushes.compactMap { $0["User"]?.text }).count))
    }
}

extension Array {
    /// An asynchronous `map`.
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows -> [Result] {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
