import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// `POST /api/notifications/batch`: many notifications in one request, each with an outcome of its
/// own.
@Suite(.timeLimit(.minutes(5))) struct BatchTests {
    private static func body(_ elements: [String]) -> String {
        #"{"Notifications":[\#(elements.joined(separator: ","))]}"#
    }

    private static func payloads(_ count: Int) -> String {
        self.body((0..<count).map { #"{"Payload":"payload \#($0)","ExpiresIn":\#($0 + 1)}"# })
    }

    private func send(
        _ fixture: ServerFixture,
        _ body: String,
        user: String = "paul",
        headers: [(String, String)] = []
    ) async throws -> Response {
        try await fixture.send(.post, Paths.notificationBatch, user: user, headers: headers, body: body)
    }

    private func outcomes(_ response: Response) throws -> [JSONValue] {
        #expect(response.status == .ok, "\(response.text)")
        #expect(response.fields[.cacheControl] == "no-store")
        guard case .array(let outcomes)? = try response.json["Outcomes"] else { throw Missing() }
        return outcomes
    }

    private struct Missing: Error {}

    /// Returns, for each outcome of a batch, its status and the code of its problem.
    private func words(_ response: Response) throws -> [String] {
        try self.outcomes(response).map { outcome in
            let status = try #require(outcome["Status"]?.integer)
            guard let problem = outcome["Problem"] else { return "\(status)" }
            #expect(problem["status"]?.integer == status)
            #expect(problem["instance"]?.text == response.fields[.requestID])
            return "\(status) \(problem["type"]?.text?.split(separator: ":").last ?? "")"
        }
    }

    // MARK: Outcomes

    @Test func eachOutcomeEqualsTheAnswerToASinglePost() async throws {
        let fixture = try await ServerFixture()
        let alice = try await fixture.storage.user("alice")
        try await fixture.storage.addDevice(of: alice, handle: "aa")
        let orders = [
            #"{"Payload":{"b":1.10,"a":[]},"To":["username:alice"]}"#,
            #"{"Payload":1,"To":["username:alice || news"],"Platforms":["apns","fcm"],"ExpiresIn":7,"Priority":"normal"}"#,
            #"{"payload":"x","CollapseKey":"k","Store":"never","ReadOnce":true}"#,
        ]
        let response = try await self.send(fixture, Self.body(orders))
        for (order, outcome) in zip(orders, try self.outcomes(response)) {
            let single = try await fixture.send(.post, Paths.notifications, user: "paul", body: order)
            let id = try #require(outcome["Id"]?.integer)
            let singleID = try #require(try single.json["Id"]?.integer)
            let expected = single.text.replacing("\"Id\":\(singleID)", with: "\"Status\":201,\"Id\":\(id)")
            #expect(String(decoding: outcome.bytes, as: UTF8.self) == expected)
        }
        #expect(try await fixture.storage.lease().count == 4, "two of the batch, and two alone")
        let first = try #require(try self.outcomes(response)[0]["Id"]?.integer)
        let item = try await fixture.send(.get, Paths.notification(Int64(first)), user: "alice")
        #expect(try item.json["Payload"]?.bytes == Array(#"{"b":1.10,"a":[]}"#.utf8))
    }

    @Test func anInvalidElementDoesNotAffectTheOthers() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.maximumPayload, 10))
        let response = try await self.send(
            fixture,
            Self.body([
                #"{"Payload":0}"#, "7", #"{"Payload":1,"To":["username:nobody"]}"#, #"{"To":[]}"#, "null",
                #"{"Payload":1,"Platforms":["mpns"]}"#, #"{"Payload":"01234567890"}"#, #"{"Payload":1,"ExpiresIn":0}"#,
                #"{"Payload":2,"Unheard-of":1}"#,
            ])
        )
        #expect(
            try self.words(response) == [
                "201", "400 invalid-member", "400 unknown-user", "400 invalid-member", "400 invalid-member",
                "400 unknown-platform", "413 payload-too-large", "400 invalid-member", "201",
            ]
        )
        let list = try await fixture.send(.get, Paths.notifications, user: "paul")
        #expect(list.text.contains(#""Payload":0"#) && list.text.contains(#""Payload":2"#))
        #expect(fixture.wakeUps.count == 0, "nobody has a device")
    }

    @Test(arguments: [
        ("", ProblemCode.invalidJSON), ("{", .invalidJSON), ("[]", .invalidJSON), (#""text""#, .invalidJSON),
        ("{}", .invalidMember), (#"{"Notifications":{}}"#, .invalidMember), (#"{"Notifications":[]}"#, .invalidMember),
        (Self.payloads(501), .invalidMember),
    ])
    func anInvalidBatchIsRefusedAsAWhole(body: String, code: ProblemCode) async throws {
        let fixture = try await ServerFixture()
        try await self.send(fixture, body).expectProblem(code)
        #expect(try await fixture.send(.get, Paths.notifications, user: "paul").text.contains(#""Notifications":[]"#))
    }

    @Test(arguments: ["to_tag=bob", "pns=apns", "app=default"])
    func parametersOfASinglePostAreRefused(query: String) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(
            .post,
            "\(Paths.notificationBatch)?x=y&\(query)",
            user: "paul",
            body: Self.payloads(1)
        )
        let name = query.prefix { $0 != "=" }
        try response.expectProblem(.unknownParameter, "\"\(name)\" works only with a string as the body")
        #expect(try await fixture.send(.get, Paths.notifications, user: "paul").text.contains(#""Notifications":[]"#))
    }

    @Test func fiveHundredNotificationsKeepTheirOrder() async throws {
        let fixture = try await ServerFixture()
        let outcomes = try self.outcomes(try await self.send(fixture, Self.payloads(500)))
        #expect(outcomes.count == 500)
        let ids = outcomes.compactMap { $0["Id"]?.integer }
        #expect(Set(ids).count == 500)
        let list = try await fixture.send(.get, Paths.notifications + "?limit=500", user: "paul")
        guard case .array(let listed)? = try list.json["Notifications"] else { throw Missing() }
        #expect(listed.compactMap { $0["Id"]?.integer } == ids)
        #expect(listed.compactMap { $0["Payload"]?.text } == (0..<500).map { "payload \($0)" })
    }

    /// Among 1000 random ids below 65,536, some are almost certainly equal.
    @Test func aCollidingIDIsReplaced() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.idBits, 16))
        for _ in 0..<2 {
            let response = try await self.send(fixture, Self.payloads(500))
            #expect(try self.words(response).allSatisfy { $0 == "201" })
        }
        let list = try await fixture.send(.get, Paths.notifications + "?limit=500", user: "paul")
        #expect(try list.json["More"] == .bool(true))
        guard case .array(let listed)? = try list.json["Notifications"] else { throw Missing() }
        #expect(listed.compactMap { $0["Payload"]?.text }.count == 500, "each opens under its own id")
    }

    // MARK: Roles, names and limits

    @Test func aDeviceSendsToItselfOnly() async throws {
        let fixture = try await ServerFixture()
        let body = Self.body([
            #"{"Payload":1}"#, #"{"Payload":1,"To":["username:bob"]}"#, #"{"Payload":1,"To":["news"]}"#,
            #"{"Payload":1,"To":["username:ALICE"]}"#,
        ])
        let response = try await self.send(fixture, body, user: "alice")
        #expect(try self.words(response) == ["201", "403 forbidden", "403 forbidden", "201"])
    }

    @Test func strictHandlingAppliesToTheElements() async throws {
        let fixture = try await ServerFixture()
        let strict = [("Prefer", "handling=strict")]
        let body = Self.body([#"{"Payload":1,"ExpireIn":5}"#, #"{"Payload":{"Any":1},"ReadOnce":true}"#])
        let response = try await self.send(fixture, body, headers: strict)
        #expect(try self.words(response) == ["400 unknown-member", "201"])
        #expect(response.text.contains("did you mean ExpiresIn?"))
        let misspelt = body.replacing("Notifications", with: "Notification")
        try await self.send(fixture, misspelt, headers: strict)
            .expectProblem(.unknownMember, "did you mean Notifications?")
    }

    @Test func eachElementCountsAsARequest() async throws {
        let quota = try #require(Quota(requests: 5, window: 60))
        let fixture = try await ServerFixture(quotas: [.publisher: quota])
        let response = try await self.send(fixture, Self.payloads(7))
        let accepted = Array(repeating: "201", count: 5)
        #expect(try self.words(response) == accepted + ["400 invalid-member", "400 invalid-member"])
        #expect(response.fields[.rateLimit]?.contains("r=0;") == true)
        try await self.send(fixture, Self.payloads(1)).expectProblem(.rateLimited)
        fixture.clock.advance(by: 12)
        #expect(try self.words(try await self.send(fixture, Self.payloads(2))) == ["201", "429 rate-limited"])
    }

    /// The refusal of elements beyond the quota must be final: status 400, and not 429. If the
    /// client had to repeat the whole batch, the server would never accept its last elements,
    /// because repeated elements count against the quota, too.
    @Test(arguments: [Quota(requests: 5, window: 60), Quota(requests: 100, window: 60, changes: 40)])
    func aFullQuotaRefusesFurtherElementsForGood(quota: Quota?) async throws {
        let fixture = try await ServerFixture(quotas: [.publisher: try #require(quota)])
        for _ in 0..<2 {
            let response = try await self.send(fixture, Self.payloads(6), headers: Self.key)
            #expect(try self.words(response) == Array(repeating: "201", count: 5) + ["400 invalid-member"])
            #expect(response.text.contains("more elements than the 5 that the quota admits at once"))
            fixture.clock.advance(by: 20_000)
        }
    }

    @Test func theStorageLimitHoldsWithinABatch() async throws {
        let bounds = try #require(StorageBounds(devices: 1, notifications: 3, bytes: 10_000))
        let fixture = try await ServerFixture(settings: .forTests(\.storage, [.publisher: bounds]))
        let response = try await self.send(fixture, Self.payloads(4))
        #expect(try self.words(response) == ["201", "201", "201", "409 too-much-stored"])
    }

    @Test func aDeviceMayNotSendALongBatch() async throws {
        let fixture = try await ServerFixture()
        let element = #"{"Payload":"\#(String(repeating: "x", count: 60_000))"}"#
        let body = Self.body(Array(repeating: element, count: 5))
        #expect(try self.words(try await self.send(fixture, body)) == Array(repeating: "201", count: 5))
        try await self.send(fixture, body, user: "alice").expectProblem(.payloadTooLarge)
        let small = try await ServerFixture(settings: .forTests(\.maximumBatch, 100_000))
        try await self.send(small, body).expectProblem(.payloadTooLarge)
    }

    @Test func bodiesBeingReceivedShareALimitedMemory() throws {
        let refusal = Problem(.busy, "too many batches are being received")
        let memory = BodyMemory(limit: 800, limitPerUser: 200, refusal: refusal)
        for user in [Int64(1), 1, 2, 2, 3, 3, 4, 4] { try memory.reserve(100, for: user) }
        #expect(throws: refusal) { try memory.reserve(1, for: 5) }
        memory.release(100, of: 1)
        try memory.reserve(40, for: 5)
        try memory.reserve(60, for: 1)
        memory.release(40, of: 5)
        #expect(throws: Problem.self) { try memory.reserve(41, for: 1) }
        try memory.reserve(40, for: 1)
    }

    // MARK: Repeated requests

    private static let key = [("Idempotency-Key", "8e03978e")]

    @Test func aRepeatedBatchHasTheSameOutcomes() async throws {
        let fixture = try await ServerFixture()
        let body = Self.body([#"{"Payload":1}"#, #"{"Payload":1}"#, "7", #"{"Payload":2,"To":["news"]}"#])
        let first = try await self.send(fixture, body, headers: Self.key + [("X-Request-Id", "a")])
        #expect(try self.words(first) == ["201", "201", "400 invalid-member", "201"])
        fixture.clock.advance(by: 86_399)
        let again = try await self.send(fixture, body, headers: Self.key + [("X-Request-Id", "a")])
        #expect(again.text == first.text)
        let list = try await fixture.send(.get, Paths.notifications, user: "paul")
        #expect(list.text.split(separator: #""Id":"#).count == 3, "two, and the part before them")
    }

    @Test func aBatchThatWasStoredInPartIsCompleted() async throws {
        let bounds = try #require(StorageBounds(devices: 1, notifications: 150, bytes: 1_000_000))
        let few = try await ServerFixture(settings: .forTests(\.storage, [.publisher: bounds]))
        let body = Self.payloads(300)
        let first = try await self.send(few, body, headers: Self.key)
        #expect(try self.words(first).count { $0 == "201" } == 150)
        let all = try await ServerFixture(storage: few.storage)
        let again = try await self.send(all, body, headers: Self.key)
        #expect(try self.words(again).allSatisfy { $0 == "201" })
        #expect(try self.outcomes(again).prefix(150) == self.outcomes(first).prefix(150))
        let list = try await all.send(.get, Paths.notifications + "?limit=500", user: "paul")
        #expect(list.text.split(separator: #""Id":"#).count == 301)
    }

    @Test func eachRepetitionAfterATimeoutStoresFurtherElements() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.batchTimeout, .zero))
        // The transactions have 150, 400 and 400 elements.
        for stored in [150, 500, 500] {
            let words = try self.words(try await self.send(fixture, Self.payloads(500), headers: Self.key))
            #expect(words.count { $0 == "201" } == stored)
            #expect(words[stored...].allSatisfy { $0 == "503 busy" })
        }
        let list = try await fixture.send(.get, Paths.notifications + "?limit=500", user: "paul")
        #expect(list.text.split(separator: #""Id":"#).count == 501)
    }

    @Test func aDifferentBatchWithTheSameKeyIsRefused() async throws {
        let fixture = try await ServerFixture()
        #expect(try self.words(try await self.send(fixture, Self.payloads(2), headers: Self.key)) == ["201", "201"])
        for body in [Self.payloads(1), Self.payloads(3), Self.body([#"{"Payload":9}"#])] {
            try await self.send(fixture, body, headers: Self.key).expectProblem(.idempotencyKeyReused)
        }
        let list = try await fixture.send(.get, Paths.notifications, user: "paul")
        #expect(list.text.split(separator: #""Id":"#).count == 3)
        // After a batch that stored no notification, a client may use the same idempotency key
        // again.
        let other = [("Idempotency-Key", "other")]
        let refused = try await self.send(fixture, Self.body(["1"]), headers: other)
        #expect(try self.words(refused) == ["400 invalid-member"])
        #expect(try self.words(try await self.send(fixture, Self.payloads(1), headers: other)) == ["201"])
    }

    @Test func eachStoredElementIsInTheAudit() async throws {
        let fixture = try await ServerFixture()
        let later = #"{"Payload":3,"SendAt":"\#((fixture.clock.now + 3600).rfc3339)"}"#
        let response = try await self.send(
            fixture,
            Self.body([#"{"Payload":1}"#, "7", #"{"Payload":2}"#, later, #"{"Payload":4}"#])
        )
        let ids = try self.outcomes(response).compactMap { $0["Id"]?.integer }.map(String.init)
        try #require(ids.count == 4)
        let entries = try await fixture.storage.reader.auditEntries(before: nil, limit: 10)
        // Consecutive notifications of a batch share an audit entry if their entries would differ
        // only in the notification's id.
        #expect(
            entries.filter { $0.action == "notification.send" }.map(\.subject)
                == [ids[3], ids[2], "\(ids[0]) \(ids[1])"]
        )
        #expect(entries.allSatisfy { $0.request == response.fields[.requestID] || $0.action != "notification.send" })
    }
}
