import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Notifications with `SendAt`, which the server sends later, from the view of senders and
/// recipients.
@Suite(.timeLimit(.minutes(5))) struct SchedulingTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func time(_ seconds: TimeInterval) -> String { (self.fixture.clock.now + seconds).rfc3339 }

    private func post(
        _ rest: String,
        user: String = "paul",
        headers: [(String, String)] = []
    ) async throws -> Response {
        let body = #"{"Payload":1,\#(rest)}"#
        return try await self.fixture.send(.post, Paths.notifications, user: user, headers: headers, body: body)
    }

    private func release() async throws {
        _ = try await self.fixture.storage.store.releaseScheduled(now: self.fixture.clock.now)
    }

    private func status(_ method: HTTPRequest.Method, _ path: String, _ user: String) async throws -> Int {
        try await self.fixture.send(method, path, user: user).status.code
    }

    @Test func aScheduledNotificationIsHiddenUntilItsTime() async throws {
        let alice = try await self.fixture.storage.user("alice")
        try await self.fixture.storage.addDevice(of: alice, handle: "aa")
        let at = self.time(60)
        let response = try await self.post(#""To":["username:alice"],"SendAt":"\#(at)","ExpiresIn":5"#)
        #expect(response.status == .created)
        let json = try response.json
        #expect(json["SendAt"]?.text == at)
        #expect(json["CreatedAt"]?.text == self.time(0))
        #expect(json["ExpiresAt"]?.text == self.time(65))
        #expect(json["Recipients"] == .null && json["Pushes"] == .null && json["More"] == .bool(true))
        #expect(self.fixture.wakeUps.count == 0)
        let path = try #require(response.fields[.location])
        #expect(try await self.status(.get, path, "alice") == 404)
        #expect(try await self.status(.delete, path, "alice") == 404)
        #expect(try await self.status(.get, path, "paul") == 200)
        let list = try await self.fixture.send(.get, Paths.notifications)
        #expect(list.text.contains(#""Notifications":[]"#))
        let report = try await self.fixture.send(.get, "\(path)/deliveries", user: "paul")
        #expect(try report.json["SendAt"]?.text == at)
        let before = try await self.fixture.send(.get, path, user: "paul")
        self.fixture.clock.advance(by: 60)
        try await self.release()
        let item = try await self.fixture.send(.get, path)
        #expect(try item.json["CreatedAt"]?.text == at)
        #expect(try await self.fixture.send(.get, "\(path)/deliveries", user: "paul").json["SendAt"] == .null)
        let after = try await self.fixture.send(.get, path, user: "paul")
        #expect(after.fields[.eTag] != before.fields[.eTag], "the bytes are others, too")
    }

    @Test(arguments: [
        "2027-01-15T08:00:00", "tomorrow", "", "2027-01-15", "2027-02-30T00:00:00Z", "1800000000",
        "2027-01-15T08:00:00 Z", "2027-01-15T24:00:00Z",
    ])
    func anInvalidTimeIsRefused(text: String) async throws {
        try await self.post(#""SendAt":"\#(text)""#).expectProblem(
            .invalidMember,
            "SendAt must be a time with its zone"
        )
        try await self.post(#""SendAt":1800000000"#).expectProblem(.invalidMember, "SendAt must be a string")
    }

    @Test func aTimeMayBeAtMostThirtyDaysAhead() async throws {
        #expect(try await self.post(#""SendAt":"\#(self.time(2_592_000))""#).status == .created)
        try await self.post(#""SendAt":"\#(self.time(2_592_001))""#)
            .expectProblem(.invalidMember, "SendAt must be at most 30 days ahead")
    }

    @Test(arguments: [0, -1, -100_000_000])
    func aPastTimeSendsAtOnce(seconds: TimeInterval) async throws {
        let response = try await self.post(#""SendAt":"\#(self.time(seconds))","ExpiresIn":5"#)
        #expect(try response.json["ExpiresAt"]?.text == self.time(5))
        #expect(try response.json["Recipients"]?.integer == 1)
        #expect(try await self.status(.get, try #require(response.fields[.location]), "paul") == 200)
        #expect(try await self.fixture.storage.reader.schedule().count == 0)
    }

    @Test func aRepeatedRequestHasTheSameAnswerBeforeAndAfterItsTime() async throws {
        let (rest, key) = (#""SendAt":"\#(self.time(60))","ExpiresIn":5"#, [("Idempotency-Key", "k")])
        let first = try await self.post(rest, headers: key)
        for _ in 0..<3 {
            self.fixture.clock.advance(by: 40)
            try await self.release()
            let again = try await self.post(rest, headers: key)
            #expect(again.body == first.body)
        }
        #expect(try await self.fixture.storage.reader.schedule().count == 0)
    }

    @Test func aDeviceSchedulesAndRecallsItsOwnNotification() async throws {
        let at = self.time(60)
        try await self.post(#""SendAt":"\#(at)","To":["username:bob"]"#, user: "alice").expectProblem(.forbidden)
        let response = try await self.post(#""SendAt":"\#(at)""#, user: "alice")
        let path = try #require(response.fields[.location])
        #expect(try await self.status(.delete, path, "bob") == 404)
        #expect(try await self.status(.delete, path, "paul") == 404)
        #expect(try await self.status(.delete, path, "alice") == 204)
        #expect(try await self.status(.delete, path, "alice") == 404)
        self.fixture.clock.advance(by: 60)
        try await self.release()
        #expect(try await self.status(.get, path, "alice") == 404)
        let entries = try await self.fixture.storage.reader.auditEntries(before: nil, limit: 10)
        #expect(
            entries.prefix(2).map { "\($0.action) \($0.detail)" } == [
                "notification.recall ", "notification.send at \(at)",
            ]
        )
    }

    @Test func theSenderOrAnAdministratorRecallsAScheduledNotification() async throws {
        for user in ["paul", "ada"] {
            let response = try await self.post(#""SendAt":"\#(self.time(60))","To":["username:alice"]"#)
            let path = try #require(response.fields[.location])
            #expect(try await self.status(.delete, path, user) == 204)
            #expect(try await self.status(.get, "\(path)/deliveries", "paul") == 404)
        }
        #expect(try await self.fixture.storage.reader.schedule().count == 0)
    }

    @Test func aBatchMayScheduleItsElements() async throws {
        let body =
            #"{"Notifications":[{"Payload":1,"SendAt":"\#(self.time(60))"},{"Payload":2},{"Payload":3,"SendAt":1}]}"#
        let response = try await self.fixture.send(.post, Paths.notificationBatch, user: "paul", body: body)
        #expect(response.text.contains(#""SendAt":"\#(self.time(60))""#))
        #expect(response.text.contains("SendAt must be a string"))
        let list = { try await self.fixture.send(.get, Paths.notifications, user: "paul").text }
        #expect(try await !list().contains(#""Payload":1"#))
        self.fixture.clock.advance(by: 60)
        try await self.release()
        #expect(try await list().contains(#""Payload":1"#))
    }

    @Test func theMetricsShowScheduledAndOverdueNotifications() async throws {
        for seconds in [60, 120] as [TimeInterval] { _ = try await self.post(#""SendAt":"\#(self.time(seconds))""#) }
        let metrics = { try await self.fixture.send(.get, "/metrics", user: "ada").text }
        #expect(try await metrics().contains("\nsealpost_scheduled_notifications 2\n"))
        #expect(try await metrics().contains("\nsealpost_scheduled_overdue_seconds 0\n"))
        self.fixture.clock.advance(by: 63)
        #expect(try await metrics().contains("\nsealpost_scheduled_overdue_seconds 3\n"))
    }
}
