import Foundation
import HTTPTypes
import PushAPI
import SocketHTTP
import Testing

@testable import PushServer

/// Somebody with an account of their own who tries the ids of others.
@Suite(.timeLimit(.minutes(5))) struct GuessedIDTests {
    /// How many ids are guessed; `make e2e` asks for more.
    private static let count = ProcessInfo.processInfo.environment["SEALPOST_TEST_GUESSES"].flatMap { Int($0) } ?? 5000
    private static let headers = [("X-Request-Id", "same"), ("MyToken", "7")]

    private let fixture: ServerFixture
    /// Of notifications for alice, from paul.
    private let paths: [String]

    init() async throws {
        let fixture = try await ServerFixture()
        var paths: [String] = []
        for _ in 0..<100 { paths.append(try await fixture.post(#"{"Payload":"x","To":["username:alice"]}"#)) }
        (self.fixture, self.paths) = (fixture, paths)
    }

    @Test func noGuessHitsAndAllAnswersAreTheSameBytes() async throws {
        let missing = try await self.ask(.get, Paths.notification(1))
        try missing.expectProblem(.notFound)
        for _ in 0..<Self.count {
            let answer = try await self.ask(.get, Paths.notification(.random(in: 1..<1 << 31)))
            guard answer.status == missing.status, answer.fields == missing.fields, answer.body == missing.body else {
                return try #require(Bool(false), "\(answer.text)")
            }
        }
    }

    /// Every route that takes a notification's id.
    @Test(arguments: [("", HTTPRequest.Method.get), ("", .delete), ("/deliveries", .get)], ["bob", "ada"])
    func everyRealIDIsMissingForTheWrongUser(route: (suffix: String, method: HTTPRequest.Method), user: String)
        async throws
    {
        // An administrator takes back and looks at deliveries, but collects nothing.
        guard user == "bob" || (route.suffix.isEmpty && route.method == .get) else { return }
        let missing = try await self.ask(route.method, Paths.notification(1) + route.suffix, user: user)
        #expect(missing.status.code >= 403)
        for path in self.paths {
            let answer = try await self.ask(route.method, path + route.suffix, user: user)
            #expect(answer.fields == missing.fields && answer.body == missing.body, "\(answer.text)")
        }
        // They are still there, for those who may.
        #expect(try await self.ask(.get, self.paths[0], user: "alice").status == .ok)
    }

    private func ask(_ method: HTTPRequest.Method, _ path: String, user: String = "bob") async throws -> Response {
        try await self.fixture.send(method, path, user: user, headers: Self.headers)
    }
}
