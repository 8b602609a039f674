import Foundation
import HTTPTypes
import PushAPI
import SocketHTTP
import Testing

@testable import PushServer

/// A signed-in user tries the ids of other users' notifications.
@Suite(.timeLimit(.minutes(5))) struct GuessedIDTests {
    /// The test tries all ids below two to this power, so each real id is among them. `make e2e`
    /// sets a larger power.
    private static let bits = ProcessInfo.processInfo.environment["SEALPOST_TEST_ID_BITS"].flatMap { Int($0) } ?? 12
    private static let headers = [("X-Request-Id", "same"), ("MyToken", "7")]
    /// The path of a notification that cannot exist: its id has one bit more than ids may have.
    private static let missing = Paths.notification(1 << Self.bits)

    /// For each route, the users who may not use it for alice's notifications. Every second
    /// notification is read-once. Administrators may delete notifications and read their
    /// deliveries, but may neither read nor mark them.
    private static let strangers = [
        "GET /api/notifications/{id}": ["bob", "ada"],
        "PATCH /api/notifications/{id}": ["bob", "ada"],
        "POST /api/notifications/{id}/taken": ["bob", "paul", "ada"],
        "DELETE /api/notifications/{id}": ["bob"],
        "GET /api/notifications/{id}/deliveries": ["bob"],
        "GET /api/notifications/{id}/recipients": ["bob"],
        // Nobody may use these routes, since no push to that device exists.
        "DELETE /api/notifications/{id}/deliveries/{device}": ["bob", "paul", "ada"],
        "POST /api/notifications/{id}/deliveries/{device}": ["bob", "paul", "ada"],
    ]

    private let fixture: ServerFixture
    /// The paths of notifications from paul to alice.
    private let paths: Set<String>

    init() async throws {
        let fixture = try await ServerFixture(settings: .forTests(\.idBits, Self.bits))
        var paths: Set<String> = []
        for number in 0..<100 {
            let rest = number.isMultiple(of: 2) ? "" : #","ReadOnce":true"#
            paths.insert(try await fixture.post(#"{"Payload":"x","To":["username:alice"]\#(rest)}"#))
        }
        (self.fixture, self.paths) = (fixture, paths)
    }

    @Test func rightAndWrongGuessesGetTheSameBytes() async throws {
        let missing = try await self.ask(.get, Self.missing)
        try missing.expectProblem(.notFound)
        let guesses = Set((Int64(1)..<1 << Self.bits).map { Paths.notification($0) })
        try #require(guesses.isSuperset(of: self.paths))
        for guess in guesses {
            let answer = try await self.ask(.get, guess)
            guard answer.status == missing.status, answer.fields == missing.fields, answer.body == missing.body else {
                return try #require(Bool(false), "\(guess): \(answer.text)")
            }
        }
    }

    @Test(arguments: Self.strangers)
    func everyRealIDIsMissingForTheWrongUser(route: String, users: [String]) async throws {
        let method = try #require(HTTPRequest.Method(String(route.prefix { $0 != " " })))
        let suffix = String(route.split(separator: "{id}").dropFirst().first ?? "").replacing("{device}", with: "d-1")
        let body = try #require(AccessRow.all[route]).body
        for user in users {
            let missing = try await self.ask(method, Self.missing + suffix, user: user, body: body)
            #expect([403, 404].contains(missing.status.code))
            for path in self.paths {
                let answer = try await self.ask(method, path + suffix, user: user, body: body)
                guard answer.fields == missing.fields, answer.body == missing.body else {
                    return try #require(Bool(false), "\(user), \(path): \(answer.text)")
                }
            }
        }
        // No request of the strangers has deleted a notification: alice still gets all of them.
        for path in self.paths { #expect(try await self.ask(.get, path, user: "alice").status == .ok) }
    }

    @Test func everyRouteThatTakesANotificationsIDIsInTheTable() {
        let routes = ServerFixture.routes.filter { $0.path.hasPrefix(Paths.notifications + "/{id}") }
        #expect(Set(routes.map { "\($0.method.rawValue) \($0.path)" }) == Set(Self.strangers.keys))
    }

    private func ask(
        _ method: HTTPRequest.Method,
        _ path: String,
        user: String = "bob",
        body: String = ""
    ) async throws -> Response {
        try await self.fixture.send(method, path, user: user, headers: Self.headers, body: body)
    }
}
