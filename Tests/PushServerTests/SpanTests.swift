import HTTPTypes
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The trace spans of requests and of their commits to the database.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct SpanTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let parent = "00f067aa0ba902b7"
    private static let sampled = ("traceparent", "00-\(trace)-\(parent)-01")

    private let recorder = SpanRecorder(sampling: 0)

    private func makeFixture() async throws -> ServerFixture {
        var options = StoreOptions.withEvents
        options.spans = self.recorder
        let storage = try StoreFixture(options: options)
        for (name, role) in ServerFixture.roles {
            try await storage.addUser(name, role: role, ServerFixture.passwordHash)
        }
        return try await ServerFixture(storage: storage, traces: RequestTraces(spans: self.recorder))
    }

    @Test func aPostContinuesItsCallersTraceAndIsTheParentOfItsCommit() async throws {
        let fixture = try await self.makeFixture()
        let body = #"{"Payload":"hush","To":["username:alice"]}"#
        let response = try await fixture.send(
            .post,
            "/api/notifications",
            user: "paul",
            headers: [Self.sampled],
            body: body
        )
        #expect(response.status == .created)
        let spans = self.recorder.take()
        #expect(spans.map(\.name) == ["commit", "POST /api/notifications"])
        #expect(spans.allSatisfy { "\($0.context.trace)" == Self.trace })
        let request = try #require(spans.last)
        #expect(request.parent?.description == Self.parent && request.kind == .server && !request.isFailed)
        #expect(
            Set(request.attributes) == [
                .init("http.request.method", .text("POST")), .init("http.route", .text("/api/notifications")),
                .init("http.response.status_code", .number(201)),
            ]
        )
        let commit = try #require(spans.first)
        #expect(commit.parent == request.context.span && commit.kind == .client)
        let database = StoreKind.current.name == StoreKind.sqlite.name ? "sqlite" : "postgresql"
        #expect(commit.attributes == [.init("db.system.name", .text(database))])
        // The delivery makes the spans of the notification's pushes as children of the request's
        // span.
        let id = try #require(response.fields[.location]?.split(separator: "/").last.flatMap { Int64($0) })
        let context = fixture.links.traces.trace(of: try #require(NotificationID(rawValue: id)))
        #expect(context == request.context)
    }

    @Test func onlySampledRequestsHaveSpans() async throws {
        let fixture = try await self.makeFixture()
        for fields in [[], [("traceparent", "00-\(Self.trace)-\(Self.parent)-00")], [("traceparent", "x")]] {
            try await fixture.send(.get, "/api/notifications", headers: fields)
        }
        _ = try await fixture.post(#"{"Payload":"hush","To":["username:alice"]}"#)
        #expect(self.recorder.take().isEmpty)
    }

    /// All texts in a span come from the server itself, and none is copied from the request.
    @Test func noSpanHasAnythingOfTheRequest() async throws {
        let fixture = try await self.makeFixture()
        let fields = [
            Self.sampled, ("X-Request-Id", "canary-id"), ("tracestate", "canary=1"), ("baggage", "canary=1"),
            ("User-Agent", "canary"), ("MyToken", "126322567"),
        ]
        let path = try await fixture.post(#"{"Payload":"canary","To":["username:alice"]}"#)
        try await fixture.send(.get, path, headers: fields)
        try await fixture.send(.get, "/canary/\(path)?canary=1", headers: fields)
        try await fixture.send(.get, "/canary", user: nil, headers: fields)
        try await fixture.send(.trace, path, headers: fields)
        try await fixture.send(.post, "/api/notifications", headers: fields, body: #"{"Payload":"canary""#)
        try await fixture.send(.put, "/api/register/canary", headers: fields, body: #"{"Platform":"canary"}"#)
        try await fixture.send(.get, "/api/users/canary", user: "ada", headers: fields)
        let spans = self.recorder.take().filter { $0.kind == .server }
        let own: Set = [
            "GET", "POST", "PUT", "_OTHER", "/api/notifications", "/api/notifications/{id}", "/api/register/{id}",
            "/api/users/{id}",
        ]
        #expect(spans.count == 7)
        for span in spans {
            let words = span.name.replacing("HTTP", with: "_OTHER").split(separator: " ").map(String.init)
            let texts = span.attributes.compactMap { if case .text(let text) = $0.value { text } else { nil } }
            #expect(own.isSuperset(of: words + texts), "\(span)")
        }
    }
}
