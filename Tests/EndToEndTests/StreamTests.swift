import Dispatch
import Foundation
import PushCore
import PushServer
import PushStore
import PushTesting
import Reactor
import Testing

@testable import PushApplication
@testable import PushSQLite

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Server-sent events, from the post to the socket.
@Suite(.timeLimit(.minutes(5))) struct StreamTests {
    /// The whole server without providers, with methods that open streams.
    struct Streams {
        let stack: Stack
        let loop: EventLoop

        /// Registers a device and returns its id.
        func register(as user: String = "alice") async throws -> String {
            let answer = try await self.stack.send(self.stack.request("POST", "/api/register", as: user))
            let id = String(answer.text.dropFirst().dropLast())
            let put = try self.stack.request("PUT", "/api/register/\(id)", as: user, body: #"{"Platform":"stream"}"#)
            #expect(try await self.stack.send(put).status == 200)
            return id
        }

        func open(
            _ query: String = "",
            as user: String = "alice",
            _ lines: [String] = [],
            method: String = "GET"
        ) async throws -> StreamClient {
            let basic = Data("\(user):\(Stack.password)".utf8).base64EncodedString()
            let lines = ["Authorization: Basic \(basic)"] + lines
            return try await StreamClient(
                self.stack.server,
                "/api/stream\(query)",
                lines,
                method: method,
                on: self.loop
            )
        }

        /// Opens a stream and waits for its greeting, so that the stream gets every event that the
        /// server sends from now on.
        func listen(_ query: String = "", as user: String = "alice", _ lines: [String] = []) async throws
            -> StreamClient
        {
            let client = try await self.open(query, as: user, lines)
            #expect(client.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(try await client.event() == "retry: 2000")
            return client
        }

        func post(as user: String = "alice") async throws -> Int64 {
            let answer = try await self.stack.send(self.stack.request("POST", "/api/notifications", as: user))
            return try #require(try answer.member("Id") as? Int64 ?? (answer.member("Id") as? Int).map(Int64.init))
        }
    }

    private func withStreams(
        heartbeat: Duration = .milliseconds(100),
        _ body: @escaping @Sendable (Streams) async throws -> Void
    ) async throws {
        try await Stack.run { configuration in
            configuration.senders = Configuration().senders
            configuration.server.streamHeartbeat = heartbeat
            // Without quotas, answers contain no number of remaining requests, which would differ
            // in each answer.
            configuration.quotas = [:]
        } _: { stack in
            let loop = try EventLoop(index: 0)
            defer { loop.stop() }
            try await withTaskExecutorPreference(loop) { try await body(Streams(stack: stack, loop: loop)) }
        }
    }

    private func event(_ id: Int64) -> String { "id: \(id) data: {\"secureId\":\"\(id)\"}" }

    @Test func aPushArrivesAsAnEvent() async throws {
        try await self.withStreams { streams in
            _ = try await streams.register()
            let client = try await streams.listen("", as: "alice", ["MyToken: 1"])
            for field in [
                "Content-Type: text/event-stream", "Cache-Control: no-store", "X-Accel-Buffering: no", "MyToken: 20",
                "Transfer-Encoding: chunked",
            ] {
                #expect(client.head.contains("\(field)\r\n"), "\(field)")
            }
            for _ in 0..<3 {
                let id = try await streams.post()
                #expect(try await client.event() == self.event(id))
            }
        }
    }

    @Test func missedPushesArriveWithTheNextStream() async throws {
        try await self.withStreams { streams in
            _ = try await streams.register()
            let missed = [self.event(try await streams.post()), self.event(try await streams.post())]
            let client = try await streams.listen()
            let arrived = [try await client.event(), try await client.event()]
            #expect(arrived.sorted() == missed.sorted())
        }
    }

    /// Only a page of them becomes due when the stream opens.
    @Test func manyMissedPushesArriveWithoutAHeartbeat() async throws {
        try await self.withStreams(heartbeat: .seconds(600)) { streams in
            for _ in 0..<21 { _ = try await streams.register() }
            var missed: Set<String> = []
            for _ in 0..<50 { missed.insert(self.event(try await streams.post())) }
            let client = try await streams.listen()
            while !missed.isEmpty { missed.remove(try await client.event()) }
        }
    }

    @Test func pushesAfterTheLastEventIDAreRepeated() async throws {
        try await self.withStreams { streams in
            _ = try await streams.register()
            let first = try await streams.listen()
            let ids = [try await streams.post(), try await streams.post(), try await streams.post()]
            for id in ids { #expect(try await first.event() == self.event(id)) }
            first.close()
            // The server repeats only pushes that it has recorded as accepted. The test therefore
            // waits until all three are recorded.
            let reader = try streams.stack.application.store.makeReader()
            try await eventually {
                try await reader.tallies()["stream"]?.accepted == 3
            }
            let again = try await streams.listen("", as: "alice", ["Last-Event-ID: \(ids[0])"])
            let arrived = [try await again.event(), try await again.event()]
            #expect(arrived.sorted() == [self.event(ids[1]), self.event(ids[2])].sorted())
        }
    }

    /// If the stream sent a new event before it had the turn to repeat the lost events, a client
    /// that left at once would never get them.
    @Test func noNewEventComesBeforeLostEventsAreRepeated() async throws {
        try await self.withStreams(heartbeat: .seconds(600)) { streams in
            let one = try await streams.register()
            let first = try await streams.listen("?device=\(one)")
            let ids = [try await streams.post(), try await streams.post(), try await streams.post()]
            for id in ids { #expect(try await first.event() == self.event(id)) }
            first.close()
            let reader = try streams.stack.application.store.makeReader()
            try await eventually { try await reader.tallies()["stream"]?.accepted == 3 }
            // After so many pushes, the user's other streams pause before they have a turn.
            for _ in 0..<19 { _ = try await streams.register() }
            for _ in 0..<50 { _ = try await streams.post() }
            let busy = try await streams.listen()
            _ = try await busy.event()
            let enqueued = try #require(try await reader.tallies()["stream"]).enqueued
            let again = try await streams.listen("?device=\(one)", as: "alice", ["Last-Event-ID: \(ids[0])"])
            _ = try await streams.post()
            _ = try await again.event()
            // The new notification has 20 pushes. At least two events are sent again.
            let repeated = try #require(try await reader.tallies()["stream"]).enqueued - enqueued - 20
            #expect(repeated >= 2)
        }
    }

    @Test func eachDeviceHasAStreamOfItsOwnIfItAsksForThat() async throws {
        try await self.withStreams { streams in
            let (one, two) = (try await streams.register(), try await streams.register())
            let first = try await streams.listen("?device=\(one)")
            let both = try await streams.listen()
            let second = try await streams.listen("?device=\(two)")
            let ids = [try await streams.post(), try await streams.post()]
            // Each push goes to both of the user's devices; a stream for both shows it once.
            for client in [first, second, both] {
                #expect(try await client.event() == self.event(ids[0]))
                #expect(try await client.event() == self.event(ids[1]))
            }
        }
    }

    @Test func aForeignDeviceAndAMissingOneGetTheSameAnswer() async throws {
        try await self.withStreams { streams in
            #expect(try await streams.open().head.hasPrefix("HTTP/1.1 404 "))
            let own = try await streams.register()
            let foreign = try await streams.open("?device=\(own)", as: "mallory", ["X-Request-Id: x"])
            let missing = try await streams.open("?device=none", as: "mallory", ["X-Request-Id: x"])
            let (first, second) = (foreign.head, missing.head)
            #expect(first.hasPrefix("HTTP/1.1 404 "))
            let strip = { (head: String) in head.split(separator: "\r\n").filter { !$0.hasPrefix("Date:") } }
            #expect(strip(first) == strip(second))
            let head = try await streams.open(method: "HEAD").head
            #expect(head.hasPrefix("HTTP/1.1 200 ") && head.contains("text/event-stream"))
        }
    }

    @Test func theStreamsOfAUserAreLimitedUntilOneIsClosed() async throws {
        try await self.withStreams { streams in
            _ = try await streams.register()
            var clients: [StreamClient] = []
            for _ in 0..<StreamHub.maximumPerUser { clients.append(try await streams.listen()) }
            let refused = try await streams.open()
            #expect(refused.head.hasPrefix("HTTP/1.1 429 "))
            #expect(refused.head.contains("Retry-After: "))
            clients.removeLast().close()
            try await eventually {
                try await streams.open().head.hasPrefix("HTTP/1.1 200 ")
            }
        }
    }

    /// While the database's writer is busy, one of the streams has the turn to make pushes due,
    /// and all others wait for it.
    @Test func aStreamThatIsClosedBeforeItsTurnNoLongerCounts() async throws {
        try await self.withStreams(heartbeat: .seconds(3600)) { streams in
            _ = try await streams.register()
            let store = try #require(streams.stack.application.store as? SQLiteStore)
            let release = DispatchSemaphore(value: 0)
            let (begun, signal) = AsyncStream<Void>.makeStream()
            async let held = store.writer.write { _ in
                signal.finish()
                return release.wait(timeout: .now() + 60)
            }
            for await _ in begun {}
            var clients: [StreamClient] = []
            for _ in 0..<StreamHub.maximumPerUser { clients.append(try await streams.listen()) }
            for client in clients { client.close() }
            try await eventually {
                try await streams.open().head.hasPrefix("HTTP/1.1 200 ")
            }
            release.signal()
            #expect(try await held == .success)
        }
    }

    @Test func aStreamEndsWithItsTokenOrItsDevice() async throws {
        try await self.withStreams { streams in
            let device = try await streams.register()
            let session = try await streams.stack.send(streams.stack.request("POST", "/api/sessions"))
            let token = try #require(try session.member("Token") as? String)
            let bearer = ["Authorization: Bearer \(token)"]
            let client = try await StreamClient(streams.stack.server, "/api/stream", bearer, on: streams.loop)
            let other = try await streams.listen()
            var request = try streams.stack.request("DELETE", "/api/sessions/current")
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
            #expect(try await streams.stack.send(request).status == 204)
            try await client.end()
            let id = try await streams.post()
            #expect(try await other.event() == self.event(id))
            let delete = try streams.stack.request("DELETE", "/api/register/\(device)")
            #expect(try await streams.stack.send(delete).status == 200)
            try await other.end()
        }
    }

    /// With an interval of an hour, no heartbeat ends the stream before the event.
    @Test func aStreamGetsNoEventAfterTheEndOfItsCredentials() async throws {
        try await self.withStreams(heartbeat: .seconds(3600)) { streams in
            _ = try await streams.register()
            let session = try await streams.stack.send(streams.stack.request("POST", "/api/sessions"))
            let token = try #require(try session.member("Token") as? String)
            let bearer = ["Authorization: Bearer \(token)"]
            let client = try await StreamClient(streams.stack.server, "/api/stream", bearer, on: streams.loop)
            #expect(try await client.event() == "retry: 2000")
            var request = try streams.stack.request("DELETE", "/api/sessions/current")
            request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
            #expect(try await streams.stack.send(request).status == 204)
            let other = try await streams.listen()
            let id = try await streams.post()
            #expect(try await other.event() == self.event(id))
            #expect(try await !client.end().contains("secureId"))
        }
    }

    @Test func aStreamEndsCleanlyWithTheServer() async throws {
        try await self.withStreams(heartbeat: .seconds(60)) { streams in
            _ = try await streams.register()
            let client = try await streams.listen()
            await streams.stack.application.stop()
            try await client.end()
        }
    }
}
