import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

@Suite(.timeLimit(.minutes(5))) struct IdempotencyTests {
    private static let key = "8e03978e-40d5-43dd-bc93-6894a57f9324"
    private static let body = #"{"Payload":{"b":1.10,"a":[]},"ExpiresIn":172800}"#

    private func post(
        _ fixture: ServerFixture,
        key: String = Self.key,
        user: String = "alice",
        query: String = "",
        loop: Int = 0,
        _ body: String = Self.body
    ) async throws -> Response {
        let headers = key.isEmpty ? [] : [("Idempotency-Key", key)]
        return try await fixture.send(
            .post,
            Paths.notifications + query,
            user: user,
            headers: headers,
            body: body,
            loop: loop
        )
    }

    /// Makes a server with a device that gets a push for each notification.
    private func fixture() async throws -> (ServerFixture, pushes: @Sendable () async throws -> Int) {
        let fixture = try await ServerFixture()
        for name in ["alice", "bob"] {
            try await fixture.storage.addDevice(of: fixture.storage.user(name), handle: "aa\(name)")
        }
        return (fixture, { try await fixture.storage.lease().count })
    }

    @Test(arguments: ["", #""a text""#, Self.body])
    func theSameRequestIsAnsweredWithTheSameBytesAndStoredOnce(body: String) async throws {
        let (fixture, pushes) = try await self.fixture()
        let first = try await self.post(fixture, body)
        #expect(first.status == (body == Self.body ? .created : .ok))
        fixture.clock.advance(by: 86_399)
        for loop in [0, 1] {
            let again = try await self.post(fixture, loop: loop, body)
            #expect(again.status == first.status)
            #expect(again.body == first.body)
            #expect(again.fields[.location] == first.fields[.location])
        }
        #expect(try await pushes() == 1)
    }

    @Test func quotesAndParametersAreNotPartOfTheKey() async throws {
        let (fixture, _) = try await self.fixture()
        let first = try await self.post(fixture, key: "\"\(Self.key)\"")
        #expect(try await self.post(fixture, key: Self.key).body == first.body)
        #expect(try await self.post(fixture, key: " \"\(Self.key)\";a=1 ").body == first.body)
    }

    @Test func anotherKeyOrUserStoresAnotherNotification() async throws {
        let (fixture, pushes) = try await self.fixture()
        var bodies: Set<[UInt8]> = []
        for (key, user) in [("k", "alice"), ("K", "alice"), ("k", "bob"), ("", "alice"), ("", "alice")] {
            let response = try await self.post(fixture, key: key, user: user)
            #expect(response.status == .created)
            bodies.insert(response.body)
        }
        #expect(bodies.count == 5)
        #expect(try await pushes() == 5)
    }

    @Test func anotherRequestWithTheSameKeyIsRefused() async throws {
        let (fixture, pushes) = try await self.fixture()
        let first = try await self.post(fixture, #""text""#)
        #expect(first.status == .ok)
        for (query, body) in [
            ("", #""text2""#), ("", #" "text""#), ("?pns=apns", #""text""#), ("?", #""text""#), ("", ""),
        ] {
            let response = try await self.post(fixture, query: query, body)
            try response.expectProblem(.idempotencyKeyReused)
        }
        #expect(try await self.post(fixture, #""text""#).body == first.body)
        #expect(try await pushes() == 1)
    }

    @Test func afterADayTheKeyIsFree() async throws {
        let (fixture, _) = try await self.fixture()
        let first = try await self.post(fixture)
        fixture.clock.advance(by: 86_400)
        let later = try await self.post(fixture, #""other""#)
        #expect(later.status == .ok)
        #expect(later.body != first.body)
        #expect(try await self.post(fixture, #""other""#).body == later.body)
    }

    @Test func anErrorLeavesTheKeyFree() async throws {
        let (fixture, _) = try await self.fixture()
        try await self.post(fixture, user: "paul", #"{"Payload":1,"To":["username:nobody"]}"#)
            .expectProblem(.unknownUser)
        try await self.post(fixture, user: "paul", "{").expectProblem(.invalidJSON)
        #expect(try await self.post(fixture, user: "paul", #"{"Payload":1}"#).status == .created)
        try await self.post(fixture, user: "alice", #"{"Payload":1,"To":["username:bob"]}"#).expectProblem(.forbidden)
        #expect(try await self.post(fixture, user: "alice").status == .created)
    }

    @Test func theSamePathInAnotherSpellingHasTheSameKeys() async throws {
        let (fixture, _) = try await self.fixture()
        let (key, body) = (("Idempotency-Key", "k"), #"{"Payload":1}"#)
        let first = try await fixture.send(.post, "/api/notifications", headers: [key], body: body)
        #expect(first.status == .created)
        #expect(try await fixture.send(.post, "/API/Notifications", headers: [key], body: body).body == first.body)
    }

    @Test func concurrentRequestsWithOneKeyStoreOneNotification() async throws {
        let (fixture, pushes) = try await self.fixture()
        for round in 0..<20 {
            let responses = try await withThrowingTaskGroup(of: Response.self) { group in
                for number in 0..<8 {
                    group.addTask { try await self.post(fixture, key: "round-\(round)", loop: number % 2) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let stored = responses.filter { $0.status == .created }
            #expect(!stored.isEmpty)
            #expect(Set(stored.map(\.body)).count == 1)
            for response in responses where response.status != .created {
                try response.expectProblem(.idempotencyKeyInUse)
            }
        }
        #expect(try await pushes() == 20)
    }

    @Test func aKeyIsInUseUntilItsRequestEnds() async throws {
        let fixture = try await ServerFixture()
        let request = IdempotentRequest(key: Data([1]), request: Data([2]))
        let key = fixture.storage.store.indexSecret.derive("test")
        let idempotency = IdempotencyGuard(keys: key, requests: key)
        try idempotency.begin(request)
        let other = IdempotentRequest(key: Data([1]), request: Data([3]))
        #expect(throws: Problem(.idempotencyKeyInUse)) { try idempotency.begin(other) }
        idempotency.end(request)
        try idempotency.begin(other)
    }

    @Test func anotherServerOfTheStoreKnowsTheKey() async throws {
        let (fixture, _) = try await self.fixture()
        let first = try await self.post(fixture)
        let again = try await ServerFixture(storage: fixture.storage)
        #expect(try await self.post(again).body == first.body)
    }

    @Test func aDeletedNotificationIsNotSentAgain() async throws {
        let (fixture, pushes) = try await self.fixture()
        let first = try await self.post(fixture)
        let path = try #require(first.fields[.location])
        #expect(try await fixture.send(.delete, path).status == .noContent)
        #expect(try await self.post(fixture).body == first.body)
        #expect(try await pushes() == 0)
    }

    @Test(arguments: [
        "", "\"\"", "\"a", "a b", "ä", "\"a b\"", "\"ä\"", "a\tb", String(repeating: "k", count: 256), "\"a\" b",
    ])
    func anInvalidKeyIsRefused(key: String) async throws {
        let fixture = try await ServerFixture()
        let headers = [("Idempotency-Key", key)]
        try await fixture.send(.post, Paths.notifications, headers: headers, body: #""x""#)
            .expectProblem(.invalidIdempotencyKey)
    }

    @Test(arguments: ["k", "\"k\"", String(repeating: "k", count: 255), "!~", "a\"b", "\"a\\\"b\\\\\"", "a,b"])
    func aValidKeyIsAccepted(key: String) async throws {
        let fixture = try await ServerFixture()
        let headers = [("idempotency-key", key)]
        #expect(try await fixture.send(.post, Paths.notifications, headers: headers, body: #""x""#).status == .ok)
    }

    @Test func twoKeysAreRefused() async throws {
        let fixture = try await ServerFixture()
        let headers = [("Idempotency-Key", "a"), ("Idempotency-Key", "a")]
        try await fixture.send(.post, Paths.notifications, headers: headers, body: #""x""#)
            .expectProblem(.invalidIdempotencyKey, "more than once")
    }

    @Test func aKeyIsNowhereOnTheDisk() async throws {
        let (fixture, _) = try await self.fixture()
        _ = try await self.post(fixture)
        #expect(try fixture.storage.folder.contents().range(of: Data(Self.key.utf8)) == nil)
    }
}
