import HTTPTypes
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The line that the server logs for each request, and the trace id in it.
@Suite(.timeLimit(.minutes(5))) struct RequestLineTests {
    private static let id = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let field = ("traceparent", "00-\(id)-00f067aa0ba902b7-01")

    private func lines(of fixture: ServerFixture) -> [String] {
        fixture.log.lines.filter { $0.contains("request answered") }
    }

    @Test func eachRequestHasOneLineWithItsRouteAndNoPath() async throws {
        let fixture = try await ServerFixture()
        let path = try await fixture.post(#"{"Payload":"hush","To":["username:alice"]}"#)
        try await fixture.send(.get, path, headers: [("X-Request-Id", "mine")])
        try await fixture.send(.get, "/nothing/\(path)", user: nil)
        let lines = self.lines(of: fixture)
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0.hasPrefix("debug ") })
        let number = try #require(path.split(separator: "/").last)
        #expect(!lines.contains { $0.contains(number) || $0.contains("hush") || $0.contains("alice") })
        let fetch = try #require(lines.dropFirst().first)
        let fields = ["method=GET", "request=mine", "route=/api/notifications/{id}", "status=200", "milliseconds="]
        for field in fields {
            #expect(fetch.contains(" \(field)"), "\(fetch)")
        }
        #expect(!fetch.contains("trace="))
    }

    @Test func theTraceIsLoggedForRequestsAndRefusals() async throws {
        let fixture = try await ServerFixture()
        try await fixture.send(.get, "/api/notifications", headers: [Self.field])
        #expect(self.lines(of: fixture).first?.contains(" trace=\(Self.id)") == true)
        let head = try #require(
            RequestHead("GET / HTTP/1.1\r\nHost: a\r\ntraceparent: 00-\(Self.id)-00f067aa0ba902b7-01\r\n\r\n")
        )
        _ = fixture.server.refuse(.targetTooLong, head: head)
        let refused = "debug request refused request="
        #expect(fixture.log.lines.contains { $0.hasPrefix(refused) && $0.contains(" status=414 trace=\(Self.id)") })
    }

    @Test(arguments: [
        [("traceparent", "00-\(id)-0000000000000000-01")], [field, field], [("traceparent", "alice's")],
    ])
    func anInvalidTraceIsIgnored(fields: [(String, String)]) async throws {
        let fixture = try await ServerFixture()
        let response = try await fixture.send(.get, "/api/notifications", headers: fields)
        #expect(response.status == .ok)
        #expect(self.lines(of: fixture).first?.contains("trace=") == false)
    }

    @Test func aNotificationHasTheTraceOfItsPost() async throws {
        let fixture = try await ServerFixture()
        let one = try await fixture.send(
            .post,
            "/api/notifications",
            user: "paul",
            headers: [Self.field],
            body: #"{"Payload":1,"To":["username:alice"]}"#
        )
        let many = try await fixture.send(
            .post,
            "/api/notifications/batch",
            user: "paul",
            headers: [Self.field],
            body: #"{"Notifications":[{"Payload":1,"To":["username:alice"]},{"Payload":2,"To":["username:bob"]}]}"#
        )
        let ids = (one.text + many.text).matches(of: /"Id":(\d+)/).compactMap { NotificationID(String($0.output.1)) }
        #expect(ids.count == 3)
        for id in ids { #expect(fixture.links.traces.trace(of: id)?.trace.description == Self.id) }
        let path = try await fixture.post(#"{"Payload":1,"To":["username:alice"]}"#)
        let other = try #require(path.split(separator: "/").last.flatMap { NotificationID(String($0)) })
        #expect(fixture.links.traces.trace(of: other) == nil)
    }

    @Test func aSampledRequestIsLoggedAtInfo() async throws {
        let fixture = try await ServerFixture()
        fixture.links.traces.sample(1)
        try await fixture.send(.get, "/api/notifications")
        #expect(self.lines(of: fixture).first?.hasPrefix("info ") == true)
    }
}
