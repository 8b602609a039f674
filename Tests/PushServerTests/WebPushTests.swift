import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Platforms whose handles are JSON objects with one canonical spelling, and the Web Push key with
/// which browsers subscribe.
@Suite(.timeLimit(.minutes(5))) struct WebPushTests {
    private static let rule = ServerSettings.PlatformRule(
        SampleHandleRule(.object(canonical: canonical), part: "a") {
            $0.contains("evil") ? "endpoint must be elsewhere" : nil
        },
        applicationServerKey: "BKEY"
    )

    private static func canonical(_ text: String) throws(HandleFlaw) -> DeviceHandle {
        guard let json = try? JSONValue(reading: Array(text.utf8)), let endpoint = json["endpoint"]?.text else {
            throw .malformed("it must have an endpoint")
        }
        guard let handle = DeviceHandle(#"{"endpoint":"\#(endpoint)"}"#) else { throw .malformed("it has blanks") }
        return handle
    }

    private func fixture(_ platforms: [String: ServerSettings.PlatformRule]) async throws -> ServerFixture {
        var settings = ServerSettings.forTests
        for (name, rule) in platforms { settings.platforms[Platform(name)] = rule }
        return try await ServerFixture(settings: settings)
    }

    private func put(_ handle: String, _ fixture: ServerFixture, id: String = "one") async throws -> Response {
        try await fixture.issue(id)
        return try await fixture.send(.put, "/api/register/\(id)", body: #"{"Platform":"webpush","Handle":\#(handle)}"#)
    }

    @Test(arguments: [
        #"{"endpoint":"https://a"}"#, #"{ "x": [1, {}], "endpoint" : "https:\/\/a" }"#,
        #""{\"endpoint\":\"https://a\"}""#,
        #""\n{\"endpoint\": \"https:\\/\\/a\", \"é\": null}\n""#,
    ])
    func anObjectAndItsTextAreTheSameHandle(handle: String) async throws {
        let fixture = try await self.fixture(["webpush": Self.rule])
        #expect(try await self.put(handle, fixture).status == .ok)
        // The same handle under another id replaces the first registration.
        #expect(try await self.put(#"{"endpoint":"https://a"}"#, fixture, id: "two").status == .ok)
        let list = try await fixture.send(.get, Paths.register).text
        #expect(list.contains(#""Id":"two""#))
        #expect(list.contains(#","ServerKey":"BKEY"}"#))
        #expect(!list.contains(#""Id":"one""#))
    }

    @Test(arguments: [
        ("{}", "Handle is not valid for webpush: it must have an endpoint"),
        (#""https://a""#, "Handle is not valid for webpush: it must have an endpoint"),
        (#"{"endpoint":"a b"}"#, "Handle is not valid for webpush: it has blanks"),
        (#"{"endpoint":"https://evil"}"#, "Handle is not valid for webpush: endpoint must be elsewhere"),
        ("[]", "Handle must be a string, not an array"), ("7", "Handle must be a string, not a number"),
        ("null", "Handle is missing"),
    ])
    func anInvalidHandleIsReportedWithTheReason(handle: String, detail: String) async throws {
        let response = try await self.put(handle, self.fixture(["webpush": Self.rule]))
        try response.expectProblem(.invalidMember)
        #expect(try response.problem.detail == detail)
    }

    @Test func aRegistrationIsFoundByTheBrowsersText() async throws {
        let fixture = try await self.fixture(["webpush": Self.rule])
        #expect(try await self.put(#"{"endpoint":"https://a"}"#, fixture).status == .ok)
        let text = "%7B%20%22endpoint%22%3A%20%22https%3A%2F%2Fa%22%20%7D"
        #expect(try await fixture.requestRegistration(handle: text) == "one")
        // The text is no handle, because it contains blanks. Nor is it a handle of a platform
        // whose handles are JSON objects.
        try await fixture.send(.post, "/api/register?handle=%7B%20%7D").expectProblem(.invalidParameter, "handle")
    }

    @Test func theWebPushKeyPrecedesOtherPlatformsKeys() async throws {
        func key(_ names: [String: String]) async throws -> Response {
            let rules = names.mapValues { key in
                ServerSettings.PlatformRule(SampleHandleRule(), applicationServerKey: key)
            }
            return try await self.fixture(rules).send(.get, Paths.webPushKey)
        }
        let response = try await key(["webpush": "B1", "a": "B2"])
        #expect(response.status == .ok)
        #expect(response.text == #"{"Key":"B1"}"#)
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(try await key(["c": "B1", "b": "B2"]).text == #"{"Key":"B2"}"#)
        try await key([:]).expectProblem(.notFound, "no sender of type webpush")
    }
}
