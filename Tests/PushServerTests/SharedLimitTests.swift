import Foundation
import HTTPTypes
import PushCore
import PushStore
import SocketHTTP
import Testing

@testable import PushServer

/// The limits that apply to all servers together: each server divides them by the number of
/// servers.
@Suite(.timeLimit(.minutes(5))) struct SharedLimitTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private let servers = ServerCount()
    private let guesser: PeerAddress
    private let alice: Username

    init() throws {
        self.guesser = .ip(try #require(IPAddress("203.0.113.7")))
        self.alice = try #require(Username("alice"))
    }

    // MARK: Quotas

    /// Sends a server two requests per second for an hour. Returns the number of requests that the
    /// server admits.
    private func admitted(_ quota: Quota, _ kind: Quota.Kind) throws -> Int {
        let quotas = Quotas([.device: quota], kind: kind, servers: self.servers)
        let caller = try #require(quotas.quota(ofUser: 7, as: .device, now: Self.start))
        return try (0..<7200).count { number in
            try #require(caller.take(now: Self.start + Double(number) / 2)).isExceeded == false
        }
    }

    @Test(arguments: [1, 2, 3, 10])
    func allServersTogetherAdmitAQuotaAtEachAndThenOneQuota(count: Int) throws {
        self.servers.record(count)
        let quota = try #require(Quota(requests: 30, window: 120, changes: 7200))
        let requests = try self.admitted(quota, .requests)
        #expect(abs(requests * count - (30 * count + 900)) <= count, "\(requests)")
        let changes = try self.admitted(quota, .changes)
        #expect(abs(changes * count - (900 * count + 300)) <= count, "\(changes)")
    }

    @Test func theAnswerTellsTheQuotaOfItsServer() async throws {
        self.servers.record(3)
        let quota = try #require(Quota(requests: 30, window: 120))
        let fixture = try await ServerFixture(quotas: [.device: quota], servers: self.servers)
        let response = try await fixture.send(.get, "/api/register")
        #expect(response.fields[.rateLimitPolicy] == #""device";q=30;w=360"#)
        #expect(response.fields[.rateLimit] == #""device";r=29;t=12"#)
    }

    @Test(arguments: [(Int.min, 1), (0, 1), (1, 1), (64, 64), (65, 64), (.max, 64)])
    func theNumberOfServersHasALimit(reported: Int, counted: Int) {
        self.servers.record(reported)
        #expect(self.servers.current == counted)
    }

    // MARK: Sign-ins

    /// Begins an attempt with a wrong password. If the limiter refuses it, returns the seconds to
    /// wait.
    private func guess(_ limiter: SignInLimiter, now: Date) -> TimeInterval? {
        do {
            _ = try limiter.begin(self.alice, password: Secret("wrong"), number: 1, from: self.guesser, now: now)
            return nil
        } catch {
            return TimeInterval(error.seconds)
        }
    }

    /// The servers do not know of each other's failed attempts. Each server therefore counts an
    /// attempt as if every other server had got one, too.
    @Test(arguments: [1, 2, 3, 10]) func guessesAtAllServersAreFewMoreInADayThanAtOne(count: Int) {
        self.servers.record(count)
        let limiter = SignInLimiter(servers: self.servers)
        var (now, guesses) = (Self.start, 0)
        while now < Self.start + 86_400 {
            if let wait = self.guess(limiter, now: now) { now += wait } else { guesses += 1 }
        }
        // One server alone admits 15 attempts within the first minutes, and then 4 in each hour.
        #expect((96 + 8 * count...96 + 15 * count).contains(guesses * count), "\(guesses * count)")
    }

    @Test func waitsAreLongerWithMoreServersAndChangeWithTheirNumber() {
        let limiter = SignInLimiter(servers: self.servers)
        for _ in 0..<6 { #expect(self.guess(limiter, now: Self.start) == nil) }
        #expect(self.guess(limiter, now: Self.start) == 1)
        self.servers.record(4)
        #expect(self.guess(limiter, now: Self.start) == 4)
        #expect(self.guess(limiter, now: Self.start + 2) == 2)
        self.servers.record(1)
        #expect(self.guess(limiter, now: Self.start + 2) == 1)
        #expect(self.guess(limiter, now: Self.start + 2.5) == nil)
    }

    @Test(arguments: [-86_400.0, 86_400_000]) func aClockThatJumpsDoesNotLengthenAWait(jump: TimeInterval) {
        self.servers.record(3)
        let limiter = SignInLimiter(servers: self.servers)
        for _ in 0..<6 { #expect(self.guess(limiter, now: Self.start) == nil) }
        #expect(self.guess(limiter, now: Self.start + jump).map { $0 <= 3 } ?? true)
        #expect(self.guess(limiter, now: Self.start + jump + 3.1) == nil)
    }

    /// A request that waits, for example for the hash of another password, has an earlier time
    /// than the requests that come meanwhile.
    @Test func requestsThatHaveWaitedDoNotShortenAWait() {
        let limiter = SignInLimiter(servers: self.servers)
        for _ in 0..<6 { #expect(self.guess(limiter, now: Self.start) == nil) }
        for _ in 0..<10 {
            #expect(self.guess(limiter, now: Self.start + 0.5) == 1)
            #expect(self.guess(limiter, now: Self.start) == 1)
        }
        #expect(self.guess(limiter, now: Self.start + 1) == nil)
    }
}
