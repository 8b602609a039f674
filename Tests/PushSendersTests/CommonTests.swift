import CurlHTTP
import Foundation
import PushCore
import PushTesting
import Synchronization
import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct RetryAfterTests {
    @Test(arguments: [
        ("1", Duration.seconds(1)), ("120", .seconds(120)), ("3600", .seconds(3600)), ("3601", .seconds(3600)),
        ("99999999999999999999", .seconds(3600)),
        ("Fri, 15 Jan 2027 08:00:30 GMT", .seconds(30)),
        ("Fri, 15 Jan 2027 23:00:30 GMT", .seconds(3600)),
    ])
    func secondsAndDatesAreReadAndCappedAtAnHour(text: String, expected: Duration) {
        #expect(RetryAfter.duration(text, now: Samples.now) == expected)
    }

    @Test(arguments: [
        nil, "", "0", "000", "Fri, 15 Jan 2027 08:00:00 GMT", "-1", "+1", "1.5", "soon",
        " 5", "5 ", "Fri, 15 Jan 2027 07:59:59 GMT", "Fri, 15 Jan 2027 08:00:30",
        "Fri, 15 Foo 2027 08:00:30 GMT", "Fri, 15 Jan 2027 25:00:30 GMT", "Fri, 15 Jan +027 08:00:30 GMT",
    ])
    func valuesOutsideTheFutureAreIgnored(text: String?) {
        #expect(RetryAfter.duration(text, now: Samples.now) == nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct ClockDifferenceTests {
    @Test(arguments: [
        (nil as String?, nil as String?, false), ("yesterday", nil, false),
        ("Fri, 15 Jan 2027 08:00:59 GMT", nil, false), ("Fri, 15 Jan 2027 07:59:01 GMT", nil, false),
        ("Fri, 15 Jan 2027 08:01:00 GMT", "60 seconds behind", false),
        ("Fri, 15 Jan 2027 07:55:01 GMT", "5 minutes ahead of", false),
        ("Fri, 15 Jan 2027 07:55:00 GMT", "5 minutes ahead of", true),
        ("Fri, 15 Jan 2027 06:45:00 GMT", "75 minutes ahead of", true),
        ("Fri, 15 Jan 2027 11:00:00 GMT", "3 hours behind", true),
        ("Fri, 15 Jan 9999 08:00:00 GMT", "2911713 days behind", true),
    ])
    func differenceIsThatOfTheDateField(date: String?, text: String?, isRefused: Bool) {
        let response = Samples.response(403, "", date.map { ["date": $0] } ?? [:])
        let difference = ClockDifference(response, now: Samples.now)
        #expect(difference?.text == text)
        #expect((difference?.isRefused ?? false) == isRefused)
    }

    /// Only the reason for a refused token mentions a wrong clock of this machine.
    @Test func refusedTokensAreExplainedByTheClock() {
        func response(_ status: Int, _ body: String) -> OutboundResponse {
            Samples.response(status, body, ["date": "Fri, 15 Jan 2027 06:45:00 GMT"])
        }
        let clock = "; this machine's clock is 75 minutes ahead of the provider's"
        for word in ["ExpiredProviderToken", "InvalidProviderToken"] {
            let outcome = APNsResponse.outcome(response(403, "{\"reason\":\"\(word)\"}"), now: Samples.now)
            guard case .failure(let failure) = outcome else { return #expect(Bool(false), "\(outcome)") }
            #expect(failure.reason == word + clock)
        }
        let other = APNsResponse.outcome(response(403, "{\"reason\":\"Forbidden\"}"), now: Samples.now)
        #expect(other == .failure(.misconfigured(reason: "Forbidden")))
        #expect(throws: SendFailure.misconfigured(reason: "invalid_grant" + clock)) {
            try AccessToken(response(400, "{\"error\":\"invalid_grant\"}"), now: Samples.now)
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct TextTests {
    @Test func formFieldsAreEscapedDownToTheUnreserved() {
        let text = FormText.encoded([("a", "x+y/z=="), ("b", "https://a/.default"), ("c", "ä~-._ ")])
        #expect(text == "a=x%2By%2Fz%3D%3D&b=https%3A%2F%2Fa%2F.default&c=%C3%A4~-._%20")
    }

    @Test(arguments: [("a\"b\\c", #""a\"b\\c""#), ("\n\u{1}", #""\u000a\u0001""#), ("ä€", "\"ä€\"")])
    func textIsQuotedAsJSON(text: String, quoted: String) {
        #expect(JSONText.quoted(text) == quoted)
    }

    @Test(arguments: ["", "two words", "a\r\nb", String(repeating: "x", count: 65), "<html>"])
    func onlyAShortCodeIsUsedAsAReason(text: String) {
        #expect(ProviderWords.code(text) == nil)
    }

    @Test func aSentenceIsTruncatedAndRedacted() {
        #expect(ProviderWords.sentence("a\r\nb") == "a??b")
        let token = "AwYAAABQ2mjhW1ukSXtV%2bP9nCcZ4m0N3bQqSxg%3d"
        #expect(ProviderWords.anonymousSentence("The channel \(token) expired") == "The channel AwYAAABQ... expired")
        #expect(ProviderWords.anonymousSentence("The channel https://a/?t=x expired") == "The channel ... expired")
        #expect(ProviderWords.anonymousSentence("a\r\nb") == "a??b")
        #expect(ProviderWords.sentence(String(repeating: "x", count: 500))?.count == 200)
        #expect(ProviderWords.sentence("no channel https://a.wns.windows.com/?token=x here") == "no channel ... here")
    }
}

@Suite(.timeLimit(.minutes(5))) struct OutcomeTableTests {
    private let table = OutcomeTable(
        accepted: 200...299,
        [
            .init(200...200, ["dropped", "lost"]) { .rejected(reason: $0.reason) },
            .init(400...499, ["gone"]) { .deviceGone(reason: $0.reason, since: $0.since) },
            .init(400...410) { .deviceUnknown(reason: $0.reason) },
            .init(503...503) { $0.overloadedIfTimed(orElse: .seconds(9)) },
        ]
    )

    @Test(
        arguments: [
            (200, ["lost"], nil, .failure(.rejected(reason: "r"))),
            (200, ["Lost"], nil, .success(Acceptance(providerID: "p"))),
            (299, ["dropped"], nil, .success(Acceptance(providerID: "p"))),
            (410, ["x", "gone"], nil, .failure(.deviceGone(reason: "r", since: Samples.now))),
            (410, [], nil, .failure(.deviceUnknown(reason: "r"))),
            (411, [], nil, .failure(.unavailable(reason: "r"))),
            (411, [], "7", .failure(.unavailable(reason: "r", retryAfter: .seconds(7)))),
            (503, [], nil, .failure(.unavailable(reason: "r", retryAfter: .seconds(9)))),
            (503, [], "7", .failure(.overloaded(reason: "r", retryAfter: .seconds(7)))),
        ] as [(Int, [String], String?, SendOutcome)]
    )
    func theFirstMatchingRowDecides(status: Int, words: [String], retryAfter: String?, expected: SendOutcome) {
        let answer = ProviderAnswer(
            Samples.response(status, "", retryAfter.map { ["retry-after": $0] } ?? [:]),
            words: words,
            reason: "r",
            providerID: "p",
            since: Samples.now,
            now: Samples.now
        )
        #expect(self.table.outcome(of: answer) == expected)
    }

    @Test func theStatusIsTheReasonIfNoneIsGiven() {
        #expect(ProviderAnswer(Samples.response(418), now: Samples.now).reason == "HTTP 418")
    }
}

@Suite(.timeLimit(.minutes(5))) struct TransportFailureTests {
    @Test(arguments: [
        OutboundError.timedOut, .couldNotConnect("x"), .tls("x"), .interrupted("x"), .responseTooLarge, .overloaded,
        .cancelled, .closed,
    ])
    func aTransportFailureCountsAsUnavailable(error: OutboundError) {
        #expect(SendFailure(error) == .unavailable(reason: error.description))
    }

    /// With a wildcard in the allowed hosts, a device can name any host. A failure of such a host
    /// must not delay other devices.
    @Test(arguments: [OutboundError.timedOut, .couldNotConnect("x"), .tls("x"), .interrupted("x"), .responseTooLarge])
    func aFailingHostNamedByADeviceDelaysOnlyThatDevice(error: OutboundError) throws {
        let (named, own) = (try #require(HostPattern("*.push.example")), try #require(HostPattern("push.example")))
        #expect(
            SendFailure(error, at: named) == .deviceBusy(reason: error.description, retryAfter: .seconds(60))
        )
        #expect(SendFailure(error, at: own) == .unavailable(reason: error.description))
    }

    @Test(arguments: [OutboundError.overloaded, .cancelled, .closed])
    func localLimitsAreNotBlamedOnTheHost(error: OutboundError) throws {
        let named = try #require(HostPattern("*.push.example"))
        #expect(SendFailure(error, at: named) == .unavailable(reason: error.description))
    }

    @Test(
        arguments: [
            (.overloaded(reason: "r", retryAfter: .seconds(9)), .deviceBusy(reason: "r", retryAfter: .seconds(9))),
            (.misconfigured(reason: "r"), .deviceBusy(reason: "r", retryAfter: .seconds(60))),
            (.unavailable(reason: "r"), .deviceBusy(reason: "r", retryAfter: .seconds(1))),
            (.unavailable(reason: "r", retryAfter: .seconds(7)), .deviceBusy(reason: "r", retryAfter: .seconds(7))),
            (.deviceGone(reason: "r"), .deviceGone(reason: "r")),
            (.deviceUnknown(reason: "r"), .deviceUnknown(reason: "r")),
            (.rejected(reason: "r"), .rejected(reason: "r")),
            (.credentialExpired(reason: "r"), .credentialExpired(reason: "r")),
        ] as [(SendFailure, SendFailure)]
    )
    func anAnswerOfAHostNamedByADeviceCountsForThatDeviceOnly(failure: SendFailure, counted: SendFailure) throws {
        let (named, own) = (try #require(HostPattern("*.push.example")), try #require(HostPattern("push.example")))
        #expect(failure.counted(at: named) == counted)
        #expect(failure.counted(at: own) == failure)
        #expect(failure.counted(at: nil) == failure)
    }

    @Test(arguments: [OutboundError.badRequest("x"), .hostNotAllowed, .refusedAddress])
    func aForbiddenAddressRejectsThePush(error: OutboundError) {
        #expect(SendFailure(error) == .rejected(reason: error.description))
    }
}

@Suite(.timeLimit(.minutes(5))) struct AccessTokenTests {
    @Test(arguments: [
        (#"{"access_token":"t","expires_in":3599,"token_type":"Bearer"}"#, 3599.0),
        (#"{"access_token":"t","expires_in":"86399","ext_expires_in":"1"}"#, 86_399),
        (#"{"access_token":"t"}"#, 3600),
    ])
    func theLifetimeIsANumberOrAStringOrAnHour(body: String, lifetime: TimeInterval) throws {
        let token = try AccessToken(Samples.response(200, body), now: Samples.now)
        #expect(token.text.exposed == "t")
        #expect(token.expiresAt == Samples.now + lifetime)
        #expect(token.renewAt < token.expiresAt - 300)
    }

    @Test(arguments: [
        (200, "<html>", SendFailure.unavailable(reason: "the response is not an access token")),
        (200, #"{"access_token":"a\r\nb"}"#, .unavailable(reason: "the response is not an access token")),
        (200, #"{"access_token":""}"#, .unavailable(reason: "the response is not an access token")),
        (200, #"{"access_token":"t","expires_in":0}"#, .unavailable(reason: "the response is not an access token")),
        (
            400, #"{"error":"invalid_grant","error_description":"x"}"#,
            .misconfigured(reason: "invalid_grant")
        ),
        (401, #"{"error":"invalid_client"}"#, .misconfigured(reason: "invalid_client")),
        (
            400, #"{"error":"internal_failure"}"#,
            .unavailable(reason: "internal_failure", retryAfter: .seconds(7))
        ),
        (404, "", .misconfigured(reason: "HTTP 404")),
        (302, "", .misconfigured(reason: "HTTP 302")),
        (502, "<html>", .unavailable(reason: "HTTP 502", retryAfter: .seconds(7))),
        (429, "", .unavailable(reason: "HTTP 429", retryAfter: .seconds(7))),
    ])
    func eachTokenRefusalMapsToItsFailure(status: Int, body: String, expected: SendFailure) {
        #expect(throws: expected) {
            try AccessToken(Samples.response(status, body, ["retry-after": "7"]), now: Samples.now)
        }
    }
}

/// A token endpoint that the test controls.
private final class Endpoint: Sendable {
    struct State {
        var fetches = 0
        var failure: SendFailure?
        var now = Samples.now
    }

    let state = Mutex(State())
    private let gate: AsyncStream<Void>?

    init(gate: AsyncStream<Void>? = nil) {
        self.gate = gate
    }

    var fetches: Int { self.state.withLock { $0.fetches } }

    func makeCache() -> AccessTokenCache {
        AccessTokenCache(now: { self.state.withLock { $0.now } }) { () throws(SendFailure) in
            let (count, failure, now) = self.state.withLock { state in
                state.fetches += 1
                return (state.fetches, state.failure, state.now)
            }
            if let gate = self.gate { for await _ in gate { break } }
            if Task.isCancelled { throw .unavailable(reason: "cancelled") }
            if let failure { throw failure }
            return AccessToken("t\(count)", lifetime: 3600, now: now)
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct AccessTokenCacheTests {
    private static let broken = SendFailure.unavailable(reason: "broken")

    @Test func aTokenIsFetchedOnceForAllWhoWait() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let endpoint = Endpoint(gate: gate)
        let cache = endpoint.makeCache()
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await cache.token().exposed } }
            try await eventually { endpoint.fetches > 0 }
            open.finish()
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens == ["t1"])
        #expect(endpoint.fetches == 1)
    }

    @Test func aFailureIsSharedByAllWhoWaitedForIt() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let endpoint = Endpoint(gate: gate)
        endpoint.state.withLock { $0.failure = Self.broken }
        let cache = endpoint.makeCache()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { await #expect(throws: Self.broken) { try await cache.token() } }
            }
            try await eventually { endpoint.fetches > 0 }
            for _ in 0..<200 { await Task.yield() }
            open.finish()
        }
        // A task that asks after the end of the first fetch starts a new fetch, so there may be
        // several.
        #expect(endpoint.fetches < 50)
        endpoint.state.withLock { $0.failure = nil }
        #expect(try await cache.token().exposed == "t\(endpoint.fetches)")
    }

    @Test func aCancelledFetchIsTakenOverByAWaitingTask() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let endpoint = Endpoint(gate: gate)
        let cache = endpoint.makeCache()
        async let second: String = {
            try await eventually { endpoint.fetches > 0 }
            return try await cache.token().exposed
        }()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await #expect(throws: SendFailure.unavailable(reason: "cancelled")) { try await cache.token() }
            }
            try await eventually { endpoint.fetches > 0 }
            for _ in 0..<20 { await Task.yield() }
            group.cancelAll()
        }
        open.finish()
        #expect(try await second == "t2")
    }

    @Test func aCancelledWaitingTaskFailsAtOnce() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let endpoint = Endpoint(gate: gate)
        let cache = endpoint.makeCache()
        async let first = cache.token().exposed
        try await eventually { endpoint.fetches > 0 }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await #expect(throws: SendFailure.unavailable(reason: "cancelled")) { try await cache.token() }
            }
            await Task.yield()
            group.cancelAll()
        }
        open.finish()
        #expect(try await first == "t1")
    }

    @Test(arguments: [(3239.0, "t1", 1), (3240, "t2", 2), (3600, "t2", 2)])
    func aTokenIsRenewedAfterNineTenthsOfItsLifetime(age: TimeInterval, token: String, fetches: Int) async throws {
        let endpoint = Endpoint()
        let cache = endpoint.makeCache()
        _ = try await cache.token()
        endpoint.state.withLock { $0.now = Samples.now + age }
        #expect(try await cache.token().exposed == token)
        #expect(endpoint.fetches == fetches)
    }

    @Test func theOldTokenIsUsedUntilItExpiresWhileRenewalFails() async throws {
        let endpoint = Endpoint()
        let cache = endpoint.makeCache()
        _ = try await cache.token()
        endpoint.state.withLock { state in
            state.now = Samples.now + 3300
            state.failure = Self.broken
        }
        #expect(try await cache.token().exposed == "t1")
        #expect(try await cache.token().exposed == "t1")
        #expect(endpoint.fetches == 2)
        endpoint.state.withLock { $0.now = Samples.now + 3330 }
        #expect(try await cache.token().exposed == "t1")
        #expect(endpoint.fetches == 3)
        endpoint.state.withLock { $0.now = Samples.now + 3600 }
        await #expect(throws: Self.broken) { try await cache.token() }
    }

    @Test func aRefusedTokenIsReplacedOnlyOnce() async throws {
        let endpoint = Endpoint()
        let cache = endpoint.makeCache()
        let refused = try await cache.token()
        #expect(cache.discard(refused))
        #expect(try await cache.token().exposed == "t2")
        #expect(cache.discard(refused))
        #expect(try await cache.token().exposed == "t2")
    }
}
