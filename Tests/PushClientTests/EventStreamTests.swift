import ClientPeers
import Foundation
import PushAPI
import PushClient
import PushTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the server's event stream for a device of the platform `stream`.
@Suite(.timeLimit(.minutes(5))) struct EventStreamTests {
    /// Answers all requests except streams.
    private static func answer(_ request: PeerRequest) -> PeerReply {
        switch (request.method, request.path) {
        case ("POST", "/api/register"): .answer(PeerAnswer(to: request, body: #""id-1""#))
        case ("PUT", _): .answer(PeerAnswer(to: request, status: 204))
        case ("GET", "/api/notifications/404"): .answer(PeerAnswer(to: request, .notFound))
        default:
            .answer(
                PeerAnswer(
                    to: request,
                    body: Samples.item(request.path.split(separator: "/").last.flatMap { Int64($0) } ?? 1)
                )
            )
        }
    }

    /// A stream that begins with a comment, as the server's streams do. On Linux the session
    /// delivers the response's head only with the first byte of the body, and a chunk without
    /// content would end the body.
    private static func stream(
        _ request: PeerRequest,
        _ text: String = "",
        type: String = "text/event-stream"
    ) -> PeerAnswer {
        var answer = PeerAnswer(to: request, fields: [("Content-Type", type)], body: ":\n\n" + text)
        answer.framing = .chunked(isEnded: false)
        return answer
    }

    private static func event(_ id: Int64) -> String { "id: \(id)\ndata: {\"secureId\":\"\(id)\"}\n\n" }

    private static let options: PushClient.Options = {
        var options = PushClient.Options(testing: [], timeout: .seconds(3))
        options.streamRetry = .milliseconds(1)
        return options
    }()

    /// Runs `body` with a server that answers requests for streams by the script `streams`. The
    /// script's index counts only these requests.
    private static func run(
        _ streams: @escaping @Sendable (PeerRequest, Int) -> PeerReply,
        _ body: @escaping @Sendable (ScriptedPeer, PushClient) async throws -> Void
    ) async throws {
        let opened = Counter()
        try await ScriptedPeer.run(
            { request, _ in request.path == Paths.stream ? streams(request, opened.next()) : Self.answer(request) },
            options: Self.options,
            body
        )
    }

    private static func words(_ event: PushEvent?) -> String {
        switch event {
        case .connected: "connected"
        case .pushed(let id, let fetched): "pushed \(id) \(fetched?.value.payload?.text ?? "nothing")"
        case .disconnected(let error, _):
            switch error {
            case PushClientError.interference(let interference)?: "disconnected \(interference.kind.rawValue)"
            case PushClientError.busy(_, let time)?: "disconnected busy \(time ?? .zero)"
            case PushClientError.offline(let code)?: "disconnected \(code.rawValue)"
            case nil: "disconnected"
            case let error?: "disconnected \(error)"
            }
        case nil: "end"
        }
    }

    private static func words(_ count: Int, _ events: PushEvents) async throws -> [String] {
        var iterator = events.makeAsyncIterator()
        var words: [String] = []
        for _ in 0..<count { words.append(Self.words(try await iterator.next())) }
        return words
    }

    @Test func pushedNotificationsAreFetchedAndCached() async throws {
        try await Self.run { request, _ in
            .hold(Self.stream(request, "retry: 10\n\n\(Self.event(7))\(Self.event(404))\(Self.event(8))"))
        } _: { peer, client in
            let words = try await Self.words(4, client.events())
            #expect(words == ["connected", "pushed 7 secret", "pushed 404 nothing", "pushed 8 secret"])
            #expect(try await client.cachedNotification(7)?.payload?.text == "secret")
            let opened = try #require(peer.requests.first { $0.path == Paths.stream })
            #expect(opened.query == "device=id-1")
            #expect(opened.fields["accept"] == "text/event-stream")
            #expect(opened.fields["last-event-id"] == nil)
            let put = try #require(peer.requests.first { $0.method == "PUT" })
            #expect(put.body.contains(#""Platform":"stream""#))
            // The client has closed the unused stream.
            try await eventually { peer.leftStreams == 1 }
        }
    }

    @Test func anEndedStreamResumesAfterTheLastEvent() async throws {
        try await Self.run { request, index in
            switch index {
            case 0:
                var answer = Self.stream(request, Self.event(7))
                answer.framing = .chunked(isEnded: true)
                return .answer(answer)
            case 1: return .hold(Self.stream(request, Self.event(8)))
            default: return .hold(Self.stream(request, Self.event(9)))
            }
        } _: { peer, client in
            let words = try await Self.words(7, client.events(silence: .seconds(1)))
            let timedOut = "disconnected \(URLError.Code.timedOut.rawValue)"
            #expect(
                words == [
                    "connected", "pushed 7 secret", "disconnected", "connected", "pushed 8 secret", timedOut,
                    "connected",
                ]
            )
            let last = peer.requests.filter { $0.path == Paths.stream }.map { $0.fields["last-event-id"] }
            #expect(last == [nil, "7", "8"])
            #expect(peer.requests.count { $0.method == "PUT" } == 1)
        }
    }

    private static let lies: [(String, @Sendable (PeerRequest) -> PeerReply)] = [
        ("missingEcho", { _ in .answer(PeerAnswer(fields: [("Content-Type", "text/html")], body: "<html>")) }),
        (
            "missingEcho",
            { request in
                var answer = Self.stream(request, Self.event(7))
                answer["MyToken"] = nil
                return .hold(answer)
            }
        ),
        (
            "wrongEcho",
            { request in
                var answer = Self.stream(request, Self.event(7))
                answer["MyToken"] = "20"
                return .hold(answer)
            }
        ),
        ("unexpectedBody", { request in .hold(Self.stream(request, "<html>", type: "text/html")) }),
        ("unexpectedBody", { request in .hold(Self.stream(request, "a", type: "text/event-streams")) }),
        ("redirect", { _ in .answer(PeerAnswer(status: 302, fields: [("Location", "http://portal.example/")])) }),
        ("\(URLError.Code.timedOut.rawValue)", { _ in .silence }),
    ]

    @Test(arguments: Self.lies.indices) func anInterferingProxyIsReported(_ index: Int) async throws {
        let (kind, reply) = Self.lies[index]
        try await Self.run { request, index in
            index == 0 ? reply(request) : .hold(Self.stream(request, "retry: 1\n\n"))
        } _: { _, client in
            let words = try await Self.words(2, client.events())
            #expect(words == ["disconnected \(kind)", "connected"])
        }
    }

    private static let spoilt: [(String, @Sendable (PeerRequest) -> PeerReply)] = [
        (
            "truncated",
            { request in
                var answer = Self.stream(request, Self.event(7))
                answer.hangsUp = true
                return .answer(answer)
            }
        ),
        (
            "oversized",
            { request in .hold(Self.stream(request, Self.event(7) + String(repeating: "a", count: 10_000))) }
        ),
        // A proxy holds back the remaining bytes of an event.
        (
            "\(URLError.Code.timedOut.rawValue)",
            { request in .hold(Self.stream(request, Self.event(7) + "data: {\"secure")) }
        ),
    ]

    @Test(arguments: Self.spoilt.indices) func aDamagedStreamIsReopened(_ index: Int) async throws {
        let (kind, reply) = Self.spoilt[index]
        try await Self.run { request, index in
            index == 0 ? reply(request) : .hold(Self.stream(request, Self.event(8)))
        } _: { peer, client in
            let words = try await Self.words(5, client.events(silence: .seconds(1)))
            // The client uses the complete events. If an event was lost with the remaining bytes,
            // the server sends it again.
            #expect(words.contains("disconnected \(kind)"))
            #expect(words.contains("pushed 8 secret"))
            #expect(peer.requests.count { $0.path == Paths.stream } == 2)
        }
    }

    @Test func theClientWaitsAsLongAsABusyServerAsks() async throws {
        try await Self.run { request, index in
            index == 0
                ? .answer(PeerAnswer(to: request, .tooManyStreams, fields: [("Retry-After", "1")]))
                : .hold(Self.stream(request))
        } _: { _, client in
            let start = ContinuousClock.now
            let words = try await Self.words(2, client.events())
            #expect(words == ["disconnected busy 1.0 seconds", "connected"])
            #expect(start.duration(to: .now) >= .seconds(1))
        }
    }

    @Test func aRefusedStreamThrows() async throws {
        try await Self.run { request, _ in
            .answer(PeerAnswer(to: request, .unauthorized))
        } _: { peer, client in
            var events = client.events().makeAsyncIterator()
            await #expect(throws: PushClientError.self) { try await events.next() }
            #expect(peer.requests.count { $0.path == Paths.stream } == 1)
        }
    }

    @Test func anUnknownDeviceIsRegisteredAgain() async throws {
        try await Self.run { request, index in
            index == 0 ? .answer(PeerAnswer(to: request, .notFound)) : .hold(Self.stream(request))
        } _: { peer, client in
            let words = try await Self.words(2, client.events())
            #expect(words.last == "connected")
            #expect(peer.requests.count { $0.method == "PUT" } == 2)
        }
        // The client leaves the registration for another provider as it is.
        try await Self.run { request, _ in
            .answer(PeerAnswer(to: request, .notFound))
        } _: { peer, client in
            try await client.register(platform: "apns", handle: "a")
            var events = client.events().makeAsyncIterator()
            await #expect(throws: PushClientError.self) { try await events.next() }
            #expect(peer.requests.count { $0.method == "PUT" } == 1)
        }
    }

    @Test func aSignOutEndsTheEvents() async throws {
        try await Self.run { request, _ in
            .hold(Self.stream(request, Self.event(7)))
        } _: { _, client in
            var events = client.events().makeAsyncIterator()
            for _ in 0..<2 { _ = try await events.next() }
            try await client.signOut()
            await #expect(throws: PushClientError.signedOut) { try await events.next() }
        }
    }

    /// The cancellation comes in the middle of the body, between two events.
    @Test func aWaitingIteratorEndsWhenItsTaskIsCancelled() async throws {
        try await Self.run { request, _ in
            .hold(Self.stream(request, Self.event(7)))
        } _: { peer, client in
            let taken = Counter()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for try await _ in client.events(silence: .seconds(3600)) { _ = taken.next() } }
                // The first event has arrived, so the iterator's next call waits for more of the
                // same body.
                try await eventually { taken.count == 2 }
                group.cancelAll()
                let result = await group.nextResult()
                #expect(throws: CancellationError.self) { try result?.get() }
            }
            try await eventually { peer.leftStreams == 1 }
            #expect(peer.requests.count { $0.path == Paths.stream } == 1)
        }
    }

    @Test func reconnectDelaysGrowToALimit() async throws {
        var options = Self.options
        options.streamRetry = .milliseconds(1)
        try await ScriptedPeer.run(
            { request, _ in request.path == Paths.stream ? .hangUp : Self.answer(request) },
            options: options
        ) { _, client in
            var events = client.events().makeAsyncIterator()
            var pauses: [Duration] = []
            for _ in 0..<9 {
                if case .disconnected(_, let pause)? = try await events.next() { pauses.append(pause) }
            }
            #expect(pauses.count == 9)
            #expect(pauses[0] < .milliseconds(2))
            #expect(pauses[8] > .milliseconds(150) && pauses[8] < .milliseconds(350))
        }
    }
}
