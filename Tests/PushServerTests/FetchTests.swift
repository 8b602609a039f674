import CivilTime
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// `GET` and `HEAD` of a notification: members, freshness and expiry.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct FetchTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    private func get(_ path: String, user: String = "alice") async throws -> Response {
        try await self.fixture.send(.get, path, user: user)
    }

    // MARK: Members

    @Test func aFetchReturnsTheTutorialsMembersFirst() async throws {
        let path = try await self.fixture.post(#"{"Payload":"x","ExpiresIn":60}"#, user: "alice")
        let id = try #require(path.split(separator: "/").last)
        let now = self.fixture.clock.now
        let response = try await self.get(path)
        #expect(response.status.code == 200)
        #expect(response.fields[.contentType] == "application/json; charset=utf-8")
        #expect(
            response.text == #"{"Id":\#(id),"Payload":"x","Read":false,"CreatedAt":"\#(now.rfc3339)","#
                + #""ExpiresAt":"\#((now + 60).rfc3339)"}"#
        )
    }

    @Test(arguments: [0.0004, 0.4996, 0.9994, 0.9996, 0.99999])
    func aFetchReturnsTheTimesOfThePost(fraction: TimeInterval) async throws {
        self.fixture.clock.advance(by: fraction)
        let sent = try await self.fixture.send(.post, Paths.notifications)
        let id = try #require(try sent.json["Id"]?.integer)
        self.fixture.clock.advance(by: 1)
        let collected = try await self.get("/api/notifications/\(id)")
        #expect(collected.text == sent.text)
        let lastModified = try #require(collected.fields[.lastModified].flatMap(HTTPDate.init))
        #expect(lastModified <= HTTPDate(self.fixture.clock.now), "not in the future")
    }

    @Test func aFetchDoesNotMarkTheNotificationRead() async throws {
        let path = try await self.fixture.post(#"{"Payload":1}"#, user: "alice")
        for _ in 0..<3 {
            #expect(try await self.get(path).json["Read"] == .bool(false))
            try await self.fixture.storage.store.writeReceipts()
        }
    }

    @Test func aFetchIsRecordedAndAHeadIsNot() async throws {
        let path = try await self.fixture.post(#"{"Payload":1}"#, user: "alice")
        try await self.fixture.send(.head, path)
        #expect(try await self.fetchedAt(path) == nil)
        self.fixture.clock.advance(by: 5)
        let collectedAt = self.fixture.clock.now
        _ = try await self.get(path)
        #expect(try await self.fetchedAt(path) == collectedAt)
        self.fixture.clock.advance(by: 5)
        _ = try await self.get(path)
        #expect(try await self.fetchedAt(path) == collectedAt, "the first time counts")
    }

    @Test(arguments: [
        "0", "-1", "1", "x", "1.0", "1e3", "0x1", "%20", "%FF", "9223372036854775807", "9223372036854775808",
        "9999999999999999999", "99999999999999999999", "1,2",
        "\u{60}".addingPercentEncoding(withAllowedCharacters: []) ?? "",
    ])
    func anInvalidIDIsNotFound(id: String) async throws {
        try await self.get("/api/notifications/\(id)").expectProblem(.notFound)
    }

    @Test(arguments: ["+", "0", "00", "%30", "%2B"])
    func anIDHasOneSpelling(prefix: String) async throws {
        let path = try await self.fixture.post(#"{"Payload":1}"#, user: "alice")
        let id = try #require(path.split(separator: "/").last)
        try await self.get("/api/notifications/\(prefix)\(id)").expectProblem(.notFound)
    }

    // MARK: Freshness

    @Test(arguments: [(60, 3600, 60), (60, 30, 30), (0, 3600, 0), (86_400, 86_400, 86_400), (31_536_000, 60, 60)])
    func maxAgeIsLimitedByTheExpiry(maxAge: Int, lifetime: Int, expected: Int) async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.cacheMaxAge, .seconds(maxAge)))
        let path = try await fixture.post(#"{"Payload":1,"ExpiresIn":\#(lifetime)}"#, user: "alice")
        let response = try await fixture.send(.get, path)
        #expect(response.fields[.cacheControl] == "private, max-age=\(expected)")
        #expect(response.fields[.expires] == HTTPDate(fixture.clock.now + TimeInterval(expected)).description)
    }

    @Test func maxAgeShrinksTowardsTheEndAndNeverPassesIt() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"ExpiresIn":100}"#, user: "alice")
        for (step, expected) in [(30.0, "60"), (30.5, "39"), (39.4, "0")] {
            self.fixture.clock.advance(by: step)
            #expect(try await self.get(path).fields[.cacheControl] == "private, max-age=\(expected)")
        }
    }

    /// The answer has the members that tell clients not to store the notification. The requests
    /// ask for no signature, because all signed answers are `no-store` anyway.
    @Test(
        arguments: [
            (#""Store":"never""#, #","Store":"never"}"#), (#""ReadOnce":true"#, #","ReadOnce":true}"#),
            (#""Store":"never","ReadOnce":true"#, #","ReadOnce":true}"#),
        ]
    )
    func anUncacheableNotificationIsMarkedAndNoStore(members: String, mark: String) async throws {
        let path = try await self.fixture.post(#"{"Payload":1,\#(members)}"#, user: "alice")
        for method in [HTTPRequest.Method.head, .get] {
            let response = try await self.fixture.send(method, path)
            #expect(response.status == .ok)
            #expect(response.text.hasSuffix(mark), "\(response.text)")
            #expect(response.fields[.cacheControl] == "no-store")
            #expect(response.fields[.expires] == nil)
        }
    }

    // MARK: Expiry

    @Test func anExpiredNotificationIsNotFoundByAnybody() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice"],"ExpiresIn":10}"#)
        self.fixture.clock.advance(by: 9.9)
        for user in ["alice", "paul"] { #expect(try await self.get(path, user: user).status == .ok) }
        self.fixture.clock.advance(by: 0.1)
        for user in ["alice", "paul"] { try await self.get(path, user: user).expectProblem(.notFound) }
        let conditional = try await self.fixture.send(.get, path, headers: [("If-None-Match", "*")])
        try conditional.expectProblem(.notFound)
    }

    // MARK: Keys

    @Test func aPayloadUnderAnOlderKeyIsStillFetched() async throws {
        let old = Keyring.generateText()
        let fixture = try await ServerFixture(keyring: old)
        let path = try await fixture.post(#"{"Payload":1}"#, user: "alice")
        let first = try await fixture.send(.get, path)
        let new = try Keyring(text: Keyring.addingKey(to: old).text)
        _ = try await fixture.storage.store.replaceKeyring(new, now: fixture.clock.now)
        let second = try await fixture.send(.get, path)
        #expect(second.body == first.body)
        #expect(second.fields[.eTag] == first.fields[.eTag], "what phones have stays valid")
    }

    // MARK: - Private

    private func fetchedAt(_ path: String) async throws -> Date? {
        try await self.fixture.storage.store.writeReceipts()
        let number = try #require(path.split(separator: "/").last.flatMap { Int64($0) })
        let notification = try await self.fixture.storage.reader.notification(
            #require(NotificationID(rawValue: number)),
            for: self.fixture.storage.user("alice").id,
            alsoAsSender: false,
            now: self.fixture.clock.now
        )
        return try #require(notification).fetchedAt
    }
}
