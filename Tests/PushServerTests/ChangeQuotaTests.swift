import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The quota that limits how many requests of a user may change stored data in a day.
@Suite(.timeLimit(.minutes(5))) struct ChangeQuotaTests {
    private static func fixture(_ changes: Int) async throws -> ServerFixture {
        let quota = try #require(Quota(requests: 1000, window: 60, changes: changes))
        return try await ServerFixture(quotas: [.device: quota])
    }

    @Test func anEighthOfTheDailyChangesMayComeAtOnce() async throws {
        let fixture = try await Self.fixture(16)
        func post() async throws -> Response {
            try await fixture.send(.post, Paths.notifications, body: #"{"Payload":1}"#)
        }
        for _ in 0..<2 { #expect(try await post().status == .created) }
        let refused = try await post()
        try refused.expectProblem(.rateLimited, "changes")
        #expect(refused.fields[.retryAfter] == "5400")
        #expect(try await fixture.send(.get, Paths.notifications).status == .ok)
        #expect(try await fixture.send(.post, Paths.notifications, user: "bob").status == .ok, "another user's")
        fixture.clock.advance(by: 5400)
        #expect(try await post().status == .created)
        try await post().expectProblem(.rateLimited)
        let metrics = try await fixture.send(.get, "/metrics", user: "ada").text
        #expect(metrics.contains(#"sealpost_requests_limited_total{role="device"} 2"#))
    }

    @Test func eachRouteThatStoresSomethingIsCharged() async throws {
        let fixture = try await Self.fixture(8)
        _ = try await fixture.send(.post, Paths.register)
        let before = try await fixture.storage.reader.lastAuditNumber()
        for route in ServerFixture.routes where route.method != .get {
            guard case .atLeast(.device, _, _) = route.access, route.path != Paths.currentSession else { continue }
            try await fixture.send(route.method, route.path.filled(with: "1")).expectProblem(.rateLimited, "changes")
        }
        #expect(try await fixture.storage.reader.lastAuditNumber() == before)
    }

    @Test func aSessionCanAlwaysEnd() async throws {
        let fixture = try await Self.fixture(8)
        let session = try await fixture.send(.post, Paths.sessions)
        let token = try #require(try session.json["Token"]?.text)
        try await fixture.send(.post, Paths.sessions).expectProblem(.rateLimited)
        let bearer = [("Authorization", "Bearer \(token)")]
        let answer = try await fixture.send(.delete, Paths.currentSession, user: nil, headers: bearer)
        #expect(answer.status == .noContent)
    }

    @Test func eachElementOfABatchIsAChange() async throws {
        let fixture = try await Self.fixture(16)
        let body = #"{"Notifications":[{"Payload":1},{"Payload":2},{"Payload":3}]}"#
        let answer = try await fixture.send(.post, Paths.notificationBatch, body: body)
        guard case .array(let outcomes)? = try answer.json["Outcomes"] else {
            Issue.record("no outcomes: \(answer.text)")
            return
        }
        #expect(outcomes.map { $0["Status"]?.integer } == [201, 201, 400])
        try await fixture.send(.post, Paths.register).expectProblem(.rateLimited, "changes")
    }

    @Test func aForbiddenRequestIsNotCharged() async throws {
        let fixture = try await Self.fixture(8)
        try await fixture.send(.post, Paths.users, body: "{}").expectProblem(.forbidden)
        #expect(try await fixture.send(.post, Paths.register).status == .ok)
    }

    @Test func aRoleWithoutAChangeQuotaIsUnlimited() async throws {
        let fixture = try await Self.fixture(8)
        for _ in 0..<5 { #expect(try await fixture.send(.post, Paths.notifications, user: "paul").status == .ok) }
    }

    @Test func theAuditKeepsThirtySixCharactersOfAClientsRequestID() async throws {
        let fixture = try await ServerFixture()
        let id = String(repeating: "0123456789", count: 12)
        let answer = try await fixture.send(.post, Paths.notifications, headers: [("X-Request-Id", id)])
        #expect(answer.fields[.requestID] == id)
        let entry = try #require(try await fixture.storage.reader.auditEntries(before: nil, limit: 1).first)
        #expect(entry.request == String(id.prefix(36)))
    }

    @Test(arguments: [7, 0, -1, 100_000_001])
    func aQuotaOutOfRangeIsRefused(changes: Int) {
        #expect(Quota(requests: 1, window: 60, changes: changes) == nil)
    }
}
