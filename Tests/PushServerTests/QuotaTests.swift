import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Synchronization
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct AllowanceTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func policy(_ requests: Int, _ window: Int) throws -> QuotaPolicy {
        try #require(RoleQuota(Quota(requests: requests, window: window), role: .device).policy)
    }

    @Test(arguments: [(1, 1), (10, 60), (1200, 60), (7, 3), (1000, 1), (3, 86_400)])
    func aQuotaMayBeUsedAtOnceAndRefillsSteadily(requests: Int, window: Int) throws {
        let policy = try Self.policy(requests, window)
        let allowance = Allowance()
        for left in (0..<requests).reversed() {
            let state = allowance.take(policy, now: Self.start)
            #expect(state.remaining == left)
            #expect(!state.isExceeded)
        }
        let state = allowance.take(policy, now: Self.start)
        #expect(state.isExceeded)
        #expect(state.remaining == 0)
        let each = Double(window) / Double(requests)
        #expect(state.seconds == Int(each.rounded(.up)))
        let later = Self.start + Double(state.seconds) + 0.001
        #expect(!allowance.take(policy, now: later).isExceeded)
        #expect(allowance.isFull(at: later + TimeInterval(window)))
    }

    @Test func aRefusedRequestTakesNothing() throws {
        let source = RoleQuota(Quota(requests: 2, window: 10), role: .device)
        let quota = CallerQuota(source: source, allowance: Allowance())
        for _ in 0..<100 { _ = quota.take(now: Self.start) }
        #expect(quota.take(now: Self.start + 5.001)?.isExceeded == false)
        #expect(source.excess.load(ordering: .relaxed) == 98)
    }

    @Test func aClockSetBackOrAShorterWindowDoesNotLockOut() throws {
        let (short, long) = (try Self.policy(10, 10), try Self.policy(10, 86_400))
        let allowance = Allowance()
        for _ in 0..<10 { _ = allowance.take(long, now: Self.start) }
        #expect(allowance.take(short, now: Self.start).isExceeded)
        #expect(!allowance.take(short, now: Self.start + 1.001).isExceeded, "a second of the shorter window later")
        #expect(allowance.take(short, now: Self.start - 100_000).isExceeded)
        #expect(!allowance.take(short, now: Self.start - 100_000 + 1.001).isExceeded)
    }

    @Test(arguments: [1.0, 3600, 10_000, 20_000, 86_400])
    func aClockSetBackDelaysAChangeByNoMoreThanItsInterval(jump: TimeInterval) throws {
        let quota = try #require(Quota(requests: 1, window: 1, changes: 10_000)?.part(.changes))
        let policy = try #require(RoleQuota(quota, role: .device, kind: .changes).policy)
        let allowance = Allowance()
        for _ in 0..<1250 { _ = allowance.take(policy, now: Self.start) }
        let state = allowance.take(policy, now: Self.start - jump)
        #expect(state.isExceeded)
        #expect(state.seconds == 9)
        #expect(!allowance.take(policy, now: Self.start - jump + 8.641).isExceeded)
    }

    @Test(arguments: [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: -1)])
    func anExtremeTimeIsAdmitted(now: Date) throws {
        let allowance = Allowance()
        #expect(!allowance.take(try Self.policy(1, 86_400), now: now).isExceeded)
    }

    @Test func concurrentRequestsTakeNoMoreThanTheQuota() async throws {
        let policy = try Self.policy(1000, 60)
        let allowance = Allowance()
        let taken = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<500).count { _ in !allowance.take(policy, now: Self.start).isExceeded } }
            }
            return await group.reduce(0, +)
        }
        #expect(taken == 1000)
    }

    @Test func anExcessChargeIsRepaidFirst() throws {
        let policy = try Self.policy(10, 10)
        let allowance = Allowance()
        _ = allowance.take(policy, now: Self.start)
        allowance.charge(4, policy, now: Self.start)
        #expect(allowance.state(policy, now: Self.start).remaining == 5)
        allowance.charge(7, policy, now: Self.start)
        let state = allowance.state(policy, now: Self.start)
        #expect((state.remaining, state.seconds) == (0, 3))
        #expect(allowance.take(policy, now: Self.start).isExceeded)
        #expect(allowance.take(policy, now: Self.start + 2.9).isExceeded)
        #expect(!allowance.take(policy, now: Self.start + 3.001).isExceeded)
    }

    @Test func theDebtIsLimitedToOneQuota() throws {
        let policy = try Self.policy(10, 10)
        let allowance = Allowance()
        for _ in 0..<3 { allowance.charge(.max, policy, now: Self.start) }
        #expect(allowance.take(policy, now: Self.start).seconds == 11)
        #expect(!allowance.take(policy, now: Self.start + 11.001).isExceeded)
    }

    @Test(arguments: [(0, 60), (1, 0), (100_000_001, 60), (1, 86_401), (-1, -1)])
    func aQuotaOutOfRangeIsRefused(requests: Int, window: Int) {
        #expect(Quota(requests: requests, window: window) == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct QuotaTests {
    private static let quotas = [
        Role.device: Quota(requests: 3, window: 60), .publisher: Quota(requests: 1000, window: 60),
    ].compactMapValues(\.self)

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture(quotas: Self.quotas)
    }

    private func list(_ user: String = "alice", loop: Int = 0) async throws -> Response {
        try await self.fixture.send(.get, "/api/register", user: user, loop: loop)
    }

    private func fields(_ response: Response) -> [String] {
        response.fields.lines.filter { $0.name == .rateLimit || $0.name == .rateLimitPolicy }.map(\.value)
    }

    @Test func eachAnswerHasTheRemainingQuotaAndARefusalRetryAfter() async throws {
        for left in [2, 1, 0] {
            let response = try await self.list()
            #expect(response.status == .ok)
            #expect(self.fields(response) == [#""device";q=3;w=60"#, #""device";r=\#(left);t=20"#])
            #expect(response.fields[.retryAfter] == nil)
        }
        let refused = try await self.list()
        try refused.expectProblem(.rateLimited)
        #expect(refused.fields[.retryAfter] == "20")
        #expect(self.fields(refused) == [#""device";q=3;w=60"#, #""device";r=0;t=20"#])
        #expect(refused.fields[.wwwAuthenticate] == nil)
        self.fixture.clock.advance(by: 20)
        #expect(try await self.list().status == .ok)
    }

    @Test func theDefaultQuotaIsReportedAsDocumented() async throws {
        let page = try Repository.text(of: "docs/operate/limits.md")
        let fields = try #require(page.firstMatch(of: /```http\nRateLimit-Policy: (.*)\nRateLimit: (.*)\n```/)).output
        let usual = try #require(Quota(requests: 1200, window: 60))
        let response = try await ServerFixture(quotas: [.device: usual]).send(.get, "/api/register")
        #expect(self.fields(response) == [String(fields.1), String(fields.2)])
    }

    @Test func aUsersQuotaCoversAllLoopsAndCredentials() async throws {
        let session = try await self.fixture.send(.post, "/api/sessions")
        let token = try #require(try session.json["Token"]?.text)
        let bearer = [("Authorization", "Bearer \(token)")]
        #expect(try await self.list(loop: 1).status == .ok)
        #expect(try await self.fixture.send(.get, "/api/register", user: nil, headers: bearer, loop: 1).status == .ok)
        try await self.fixture.send(.get, "/api/register", user: nil, headers: bearer).expectProblem(.rateLimited)
        try await self.fixture.send(.get, "/api/register", user: nil, bytes: [], certificate: "alice")
            .expectProblem(.rateLimited)
        #expect(try await self.list("bob").status == .ok)
    }

    @Test func errorsCountAgainstTheQuota() async throws {
        let response = try await self.fixture.send(.get, "/api/nothing")
        #expect(response.status == .notFound)
        #expect(self.fields(response).last == #""device";r=2;t=20"#)
        for (method, target) in [(HTTPRequest.Method.delete, "/api/notifications"), (.post, "/api/users")] {
            #expect(try await self.fields(self.fixture.send(method, target)).count == 2)
        }
        try await self.fixture.send(.post, "/api/users", body: "{").expectProblem(.rateLimited)
    }

    @Test func aListIsChargedByItsSize() async throws {
        let fixture = try await ServerFixture(
            quotas: [.device: Quota(requests: 100, window: 100)].compactMapValues(\.self)
        )
        // Paul posts these notifications to alice, so they do not count against alice's quota.
        for _ in 0..<3 {
            let payload = String(repeating: "x", count: 20_000)
            _ = try await fixture.post(#"{"Payload":"\#(payload)","To":["username:alice"]}"#)
        }
        func left(
            _ query: String,
            _ headers: (String, String)...,
            method: HTTPRequest.Method = .get
        ) async throws -> Int {
            let response = try await fixture.send(method, "/api/notifications\(query)", headers: headers)
            let state = try #require(response.fields[.rateLimit]?.firstMatch(of: /r=(\d+);/))
            return try #require(Int(state.1))
        }
        #expect(try await left("?limit=1") == 98, "20 kB are one more")
        #expect(try await left("") == 94, "60 kB are three more")
        #expect(try await left("", ("Accept-Encoding", "gzip")) == 90, "however they are sent")
        #expect(try await left("", method: .head) == 86)
        #expect(try await left("?ids=1") == 85, "it carries nothing")
        let tag = try #require(try await fixture.send(.get, Paths.notifications).fields[.eTag])
        #expect(try await left("", ("If-None-Match", tag)) == 80)
        let metrics = try await fixture.send(.get, "/metrics", user: "ada").text
        #expect(metrics.contains(#"sealpost_requests_limited_total{role="device"} 0"#))
    }

    @Test func unlimitedRolesAndUnknownCallersHaveNoQuotaFields() async throws {
        for _ in 0..<10 { #expect(try await self.fields(self.list("ada")) == []) }
        for target in ["/healthz", "/readyz", "/nothing", "/api/register"] {
            #expect(try await self.fields(self.fixture.send(.get, target, user: nil)) == [])
        }
    }

    @Test func aChangedRoleAppliesItsQuotaAtOnce() async throws {
        for _ in 0..<3 { _ = try await self.list() }
        try await self.list().expectProblem(.rateLimited)
        let body = #"{"Role":"publisher"}"#
        let change = try await self.fixture.send(.patch, "/api/users/alice", user: "ada", body: body)
        #expect(change.status == .noContent)
        self.fixture.clock.advance(by: 0.06)
        let response = try await self.list()
        #expect(self.fields(response) == [#""publisher";q=1000;w=60"#, #""publisher";r=0;t=1"#])
        self.fixture.clock.advance(by: 60)
        #expect(try await self.fields(self.list()).last == #""publisher";r=999;t=1"#)
    }

    @Test func aReplacedQuotaAppliesToCachedCallersAndKeepsUses() async throws {
        #expect(try await self.fields(self.list()).last == #""device";r=2;t=20"#)
        let authenticator = self.fixture.authenticator
        authenticator.replaceQuotas([.device: try #require(Quota(requests: 6, window: 120))])
        #expect(try await self.fields(self.list()) == [#""device";q=6;w=120"#, #""device";r=4;t=20"#])
        authenticator.replaceQuotas([:])
        for _ in 0..<10 { #expect(try await self.fields(self.list()) == []) }
        authenticator.replaceQuotas([.device: try #require(Quota(requests: 1, window: 1))])
        try await self.list().expectProblem(.rateLimited)
        authenticator.replaceQuotas([:])
        let metrics = try await self.fixture.send(.get, "/metrics", user: "ada").text
        #expect(metrics.contains(#"sealpost_requests_limited_total{role="device"} 1"#))
    }

    @Test func theLargestQuotaIsStoredExactly() throws {
        let largest = try #require(Quota(requests: 100_000_000, window: 86_400))
        let source = RoleQuota(largest, role: .device)
        #expect(source.policy.map { [$0.requests, $0.window] } == [100_000_000, 86_400])
        source.replace(with: Quota(requests: 1, window: 1))
        #expect(source.policy.map { [$0.requests, $0.window] } == [1, 1])
        source.replace(with: nil)
        #expect(source.policy == nil)
    }

    @Test func refusalsAreCounted() async throws {
        for _ in 0..<5 { _ = try await self.list() }
        let metrics = try await self.fixture.send(.get, "/metrics", user: "ada").text
        #expect(metrics.contains(#"sealpost_requests_limited_total{role="device"} 2"#))
        #expect(metrics.contains(#"sealpost_requests_limited_total{role="publisher"} 0"#))
    }

    @Test func aUserKeepsItsAllowanceWhenManyAreEvicted() throws {
        let quotas = Quotas(Self.quotas)
        let now = self.fixture.clock.now
        func quota(_ id: Int64) throws -> CallerQuota {
            try #require(quotas.quota(ofUser: id, as: .device, now: now))
        }
        let kept = try quota(-1)
        #expect(try quota(-2).take(now: now)?.remaining == 2)
        for id in 0..<Int64(5000) { _ = try quota(id) }
        #expect(try quota(-1).allowance === kept.allowance, "in use")
        #expect(try quota(-2).take(now: now)?.remaining == 1, "not full")
    }
}
