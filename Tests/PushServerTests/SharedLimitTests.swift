import Foundation
import HTTPTypes
import Logging
import PushAPI
import PushCore
import PushDelivery
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The limits that three servers of a store share.
@Suite(.timeLimit(.minutes(5))) struct SharedLimitTests {
    /// The quota of a device: 30 requests in two minutes.
    private static let quotas: [Role: Quota] =
        Quota(requests: 30, window: 120, changes: 24).map { [.device: $0] } ?? [:]

    private struct Server {
        let fixture: ServerFixture
        let exchange: LimitExchange

        init(_ storage: StoreFixture?, quotas: [Role: Quota]) async throws {
            let fixture = try await ServerFixture(
                storage: storage?.reopened(),
                quotas: quotas,
                limits: .servers
            )
            let log = fixture.log
            self.fixture = fixture
            self.exchange = LimitExchange(
                store: try #require(fixture.storage.store.limits),
                limits: fixture.authenticator.sharedLimits,
                logger: Logger(label: "test") { _ in log },
                now: { fixture.clock.now }
            )
        }
    }

    private let servers: [Server]
    private let guesser: PeerAddress

    init() async throws {
        self.guesser = .ip(try #require(IPAddress("203.0.113.7")))
        self.servers = try await StoreKind.$current.withValue(.postgreSQL) {
            let first = try await Server(nil, quotas: Self.quotas)
            return [first] + [
                try await Server(first.fixture.storage, quotas: Self.quotas),
                try await Server(first.fixture.storage, quotas: Self.quotas),
            ]
        }
        // After the exchange, each server knows how many servers there are.
        await self.exchange()
    }

    /// Each server sends and receives in turn, until all servers have received everything.
    private func exchange(rounds: Int = 2) async {
        for _ in 0..<rounds {
            for server in self.servers { await server.exchange.exchange() }
        }
    }

    private func advance(by seconds: TimeInterval) {
        for server in self.servers { server.fixture.clock.advance(by: seconds) }
    }

    // MARK: Quotas

    /// Returns how many of `count` requests a server admits.
    private func admitted(_ server: Int, of count: Int = 1000) async throws -> Int {
        for number in 0..<count {
            let response = try await self.servers[server].fixture.send(.get, "/api/register", client: self.guesser)
            if response.status == .tooManyRequests { return number }
            #expect(response.status == .ok)
        }
        return count
    }

    @Test func requestsOnOneServerCountOnAll() async throws {
        #expect(try await self.admitted(0) == 30)
        await self.exchange()
        #expect(try await self.admitted(1) == 0)
        #expect(try await self.admitted(2) == 0)
        self.advance(by: 4)
        #expect(try await self.admitted(2) == 1)
        await self.exchange()
        #expect(try await self.admitted(0) == 0)
        #expect(try await self.admitted(1) == 0)
    }

    @Test func changesOnOneServerCountOnAll() async throws {
        for _ in 0..<3 {
            let response = try await self.servers[0].fixture.send(.post, "/api/register", client: self.guesser)
            #expect(response.status == .ok)
        }
        await self.exchange()
        try await self.servers[1].fixture.send(.post, "/api/register", client: self.guesser)
            .expectProblem(.rateLimited, "changes")
        #expect(try await self.admitted(1, of: 1) == 1)
    }

    @Test func eachServerAdmitsAtMostAQuotaAndTheExcessIsRepaid() async throws {
        for server in 0..<3 { #expect(try await self.admitted(server) == 30) }
        await self.exchange()
        // Each server has counted 90 used requests; 15 become free in a minute.
        for minute in 0..<4 {
            for server in 0..<3 { #expect(try await self.admitted(server) == 0, "minute \(minute)") }
            self.advance(by: 60)
        }
        self.advance(by: 4)
        #expect(try await self.admitted(0) == 1)
    }

    @Test func aCallerOfAllServersGetsLittleMoreThanOneQuota() async throws {
        var total = 0
        for _ in 0..<10 {
            for server in 0..<3 { total += try await self.admitted(server, of: 2) }
            await self.exchange(rounds: 1)
        }
        // The servers admit six requests between two exchanges, and a server learns of them
        // within two.
        #expect((30...30 + 2 * 6).contains(total), "\(total)")
    }

    @Test func smallUsesAreNotShared() async throws {
        let quota = try #require(Quota(requests: 1200, window: 60))
        let quotas = Quotas([.device: quota], scope: .servers)
        var answer = LimitAnswer()
        answer.servers = 3
        let now = self.servers[0].fixture.clock.now
        quotas.apply(answer, now: now)
        // 1200 / (16 · 3)
        for user in 0..<Int64(5000) {
            _ = try #require(quotas.quota(ofUser: user, as: .device, now: now)).take(now: now)
        }
        var news = LimitNews()
        quotas.takeNews(into: &news, now: now)
        #expect(news.isEmpty)
        for _ in 0..<24 { _ = try #require(quotas.quota(ofUser: 7, as: .device, now: now)).take(now: now) }
        quotas.takeNews(into: &news, now: now)
        #expect(news.uses == [QuotaUse(user: 7, role: .device, requests: 25)])
        for _ in 0..<25 {
            for user in 0..<Int64(5000) {
                _ = try #require(quotas.quota(ofUser: user, as: .device, now: now)).take(now: now)
            }
        }
        for count in [QuotaUse.limit, 5000 - QuotaUse.limit, 0] {
            news = LimitNews()
            quotas.takeNews(into: &news, now: now)
            #expect(news.uses.count == count)
        }
    }

    // MARK: Sign-ins

    /// Returns a server's answer to a password.
    private func guess(_ server: Int, _ name: String, _ number: Int = 0, password: String? = nil) async throws
        -> Response
    {
        let password = password ?? "wrong \(number)"
        let fixture = self.servers[server].fixture
        if let username = Username(name) { fixture.authenticator.accountChanged(username) }
        let headers = [("Authorization", ServerFixture.basic(name, password: password))]
        return try await fixture.send(.get, "/api/register", user: nil, headers: headers, client: self.guesser)
    }

    @Test(arguments: ["alice", "nobody"]) func guessesThatAreSpreadOverServersAreStopped(name: String) async throws {
        var guesses = 0
        for number in 0..<100 {
            for server in 0..<3 {
                if try await self.guess(server, name, number * 3 + server).status == .unauthorized { guesses += 1 }
            }
        }
        // Until the servers exchange their counts, each admits as many guesses as a single
        // server: five that are free, and one.
        #expect(guesses == 18)
        await self.exchange()
        for server in 0..<3 {
            let response = try await self.guess(server, name)
            try response.expectProblem(.tooManyAttempts)
            #expect(response.fields[.retryAfter] == "900")
        }
        // From here on the servers act like one.
        self.advance(by: 900)
        #expect(try await self.guess(1, name).status == .unauthorized)
        await self.exchange()
        for server in 0..<3 { try await self.guess(server, name).expectProblem(.tooManyAttempts) }
    }

    @Test func theRightPasswordEndsTheDelayOnAllServers() async throws {
        for number in 0..<5 { #expect(try await self.guess(0, "alice", number).status == .unauthorized) }
        await self.exchange()
        #expect(try await self.guess(1, "alice", password: ServerFixture.password).status == .ok)
        await self.exchange()
        for number in 10..<16 { #expect(try await self.guess(2, "alice", number).status == .unauthorized) }
        try await self.guess(2, "alice").expectProblem(.tooManyAttempts)
    }

    @Test func invalidTokensCountOnAllServers() async throws {
        func show(_ server: Int) async throws -> Response {
            let headers = [("Authorization", "Bearer \(BearerToken.random().text.exposed)")]
            return try await self.servers[server].fixture.send(
                .get,
                "/api/register",
                user: nil,
                headers: headers,
                client: self.guesser
            )
        }
        for _ in 0..<51 { #expect(try await show(0).status == .unauthorized) }
        try await show(0).expectProblem(.tooManyAttempts)
        await self.exchange()
        try await show(1).expectProblem(.tooManyAttempts)
    }

    @Test func theDatabaseHasNeitherNamesNorPasswordsNorAddresses() async throws {
        _ = try await self.guess(0, "zaphod", password: "beeblebrox")
        _ = try await self.guess(0, "alice", password: ServerFixture.password)
        await self.exchange()
        let store = self.servers[0].fixture.storage.store
        let parts = try store.bytesAtRest()
        #expect(parts.contains { $0.name == "The rows of limit_news" && !$0.bytes.isEmpty })
        for secret in ["zaphod", "beeblebrox", ServerFixture.password, "203.0.113.7"] {
            #expect(!parts.contains { $0.bytes.range(of: Data(secret.utf8)) != nil }, "\(secret)")
        }
    }

    @Test func theNewsForOtherServersIsLimited() async throws {
        let limiter = SignInLimiter(sharedKey: IndexSecret().derive("test"))
        let now = self.servers[0].fixture.clock.now
        for number in 0..<2000 {
            let name = try #require(Username("user\(number)"))
            let address = PeerAddress.ip(try #require(IPAddress("10.0.\(number / 250).\(number % 250)")))
            _ = try limiter.begin(name, password: Secret("x"), from: address, now: now)
            try limiter.countInvalidCredentials(from: address, now: now)
        }
        var news = LimitNews()
        limiter.takeNews(into: &news, now: now)
        #expect(news.signIns.count == SignInNews.limit + SignInNews.countLimit)
        news = LimitNews()
        limiter.takeNews(into: &news, now: now)
        #expect(news.isEmpty)
    }

    @Test func attemptsThatChangeNothingAreNotShared() async throws {
        let limiter = SignInLimiter(sharedKey: IndexSecret().derive("test"))
        let name = try #require(Username("alice"))
        let now = self.servers[0].fixture.clock.now
        func news() -> [SignInNews.Kind] {
            var news = LimitNews()
            limiter.takeNews(into: &news, now: now)
            return news.signIns.map(\.kind)
        }
        func begin() throws -> SignInAttempt {
            try limiter.begin(name, password: Secret("x"), from: self.guesser, now: now)
        }
        limiter.cancel(try begin(), now: now)
        #expect(news() == [])
        limiter.succeed(try begin(), now: now)
        #expect(news() == [.succeeded])
        limiter.succeed(try begin(), now: now)
        #expect(news() == [])
        let first = try begin()
        #expect(news() == [.begun])
        limiter.cancel(first, now: now)
        #expect(news() == [.cancelled])
    }
}
