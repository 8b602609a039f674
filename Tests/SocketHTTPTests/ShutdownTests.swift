import Glibc
import HTTPTypes
import Reactor
import Synchronization
import Testing

@testable import SocketHTTP

@Suite(.timeLimit(.minutes(5))) struct ShutdownTests {
    @Test func aRunningRequestFinishesAndAnIdleConnectionCloses() async throws {
        let (running, started) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let answer: @Sendable (Request) async -> Response = { request in
            guard request.head.path == "/slow" else { return Response(status: .ok) }
            started.yield()
            for await _ in gate {}
            return Response(status: .ok, body: Array("\(Task.isCancelled)".utf8))
        }
        try await withServer(answer: answer) { test in
            let (slow, idle) = (try test.client(), try test.client())
            try await idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await idle.response()
            try await slow.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
            for await _ in running { break }
            test.server.stop()
            #expect(try await idle.rest() == "")
            open.finish()
            let response = try await slow.response()
            #expect(response.body == "false")
            #expect(response.value("Connection") == "close")
            #expect(try await slow.rest() == "")
        }
    }

    @Test func aRequestThatHasBegunToArriveIsStillAnswered() async throws {
        try await withServer { test in
            let (begun, idle) = (try test.client(), try test.client())
            for client in [begun, idle] {
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                _ = try await client.response()
            }
            try await begun.send("GET / HT")
            test.server.stop()
            #expect(try await idle.rest() == "")
            try await begun.send("TP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await begun.response().value("Connection") == "close")
        }
    }

    @Test func requestThatOutlastsTheStopTimeoutIsCancelled() async throws {
        let (running, started) = AsyncStream.makeStream(of: Void.self)
        let answer: @Sendable (Request) async -> Response = { _ in
            started.yield()
            // Only a cancellation ends the sleep before the test's time limit. The result of the
            // sleep does not matter.
            try? await Task.sleep(for: .seconds(3600))
            return Response(status: .ok)
        }
        try await withServer(grace: .milliseconds(30), answer: answer) { test in
            let (client, half) = (try test.client(), try test.client())
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await half.send("GET / HT")
            for await _ in running { break }
            test.server.stop()
            #expect(try await client.rest() == "")
            #expect(try await half.rest() == "")
        }
    }

    @Test func stopDoesNotWaitForAHandshake() async throws {
        let (begun, started) = AsyncStream.makeStream(of: Void.self)
        let makeStream: HTTPServer.StreamMaker = { descriptor in
            started.yield()
            while true { try await descriptor.waitToRead(until: .now + .seconds(60)) }
        }
        try await withServer(grace: .seconds(60), opening: .init(makeStream: makeStream)) { test in
            let client = try test.client()
            for await _ in begun { break }
            test.server.stop()
            #expect(try await client.rest() == "")
        }
    }

    @Test func connectionWithoutARequestStaysALittleLonger() async throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let closed = await withTaskGroup(of: [Bool].self) { group in
            group.addTask(executorPreference: loop) {
                let stream = ClosableStream()
                let connection = Connection(
                    stream,
                    peer: .unix,
                    limits: ServerLimits(),
                    proxies: .none,
                    responder: TestResponder(answer: echo),
                    loopState: LoopConnections(loop: loop)
                )
                connection.closeIfIdle()
                let atOnce = stream.isClosed
                connection.closeIfIdle(evenIfNew: true)
                return [atOnce, stream.isClosed]
            }
            return await group.next()
        }
        #expect(closed == [false, true])
    }

    @Test func stoppedServerAcceptsNoConnections() async throws {
        let (running, started) = AsyncStream.makeStream(of: Void.self)
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let answer: @Sendable (Request) async -> Response = { _ in
            started.yield()
            for await _ in gate {}
            return Response(status: .ok)
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            for await _ in running { break }
            test.server.stop()
            let end = ContinuousClock.now + .seconds(120)
            var error: SystemError?
            while error == nil, .now < end {
                do { _ = try test.client() } catch let refused as SystemError { error = refused }
            }
            // The connection is reset if it arrived while the server closed the listening socket.
            #expect([ECONNREFUSED, ECONNRESET].contains(error?.code))
            open.finish()
            #expect(try await client.response().status == "HTTP/1.1 200 OK")
        }
    }

    @Test func busyLoopDoesNotDelayNewConnections() async throws {
        let (holding, held) = AsyncStream.makeStream(of: Void.self)
        let isLetIn = Flag()
        let answer: @Sendable (Request) async -> Response = { request in
            guard request.head.path == "/hold" else { return Response(status: .ok) }
            held.yield()
            return Response(status: isLetIn.wait() ? .ok : .internalServerError)
        }
        try await withServer(loops: 2, answer: answer) { test in
            // The server now has one connection on each of its two loops. The test then blocks the
            // first loop.
            let (first, second) = (try test.client(), try test.client())
            for client in [first, second] { try await client.get() }
            try await first.send("GET /hold HTTP/1.1\r\nHost: h\r\n\r\n")
            for await _ in holding { break }
            // One of the next two connections goes to the loop that is not blocked.
            let others = [try test.client(), try test.client()]
            for other in others { try await other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
            #expect(try await others[1].response().status == "HTTP/1.1 200 OK")
            isLetIn.set()
            #expect(try await first.response().status == "HTTP/1.1 200 OK")
        }
    }

    @Test func stoppingAgainOrTooLateIsHarmless() async throws {
        let loops = try EventLoopGroup(count: 1)
        let server = HTTPServer(
            listeners: [try Listener(.tcp(host: "127.0.0.1", port: 0))],
            loops: loops,
            responder: TestResponder(answer: echo)
        )
        server.stop()
        server.stop()
        await server.run()
        loops.stop()
        server.stop()
    }

    @Test func cancellingTheTaskStopsTheServer() async throws {
        let loops = try EventLoopGroup(count: 1)
        defer { loops.stop() }
        let server = HTTPServer(
            listeners: [try Listener(.tcp(host: "127.0.0.1", port: 0))],
            loops: loops,
            responder: TestResponder(answer: echo)
        )
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await server.run() }
            await Task.yield()
            group.cancelAll()
        }
    }
}

/// A flag that a handler can wait for while it blocks its event loop.
private final class Flag: Sendable {
    private let isSet = Atomic(false)

    func set() {
        self.isSet.store(true, ordering: .releasing)
    }

    /// Waits for at most two minutes. Returns whether the flag is set.
    func wait() -> Bool {
        let end = ContinuousClock.now + .seconds(120)
        while !self.isSet.load(ordering: .acquiring) {
            if .now >= end { return false }
            usleep(100)
        }
        return true
    }
}

/// A stream that delivers nothing, and only records whether it was closed.
private final class ClosableStream: ByteStream {
    private(set) var isClosed = false

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? { nil }
    func write(_ bytes: UnsafeRawBufferPointer) -> Int? { nil }
    func whenReadable(until deadline: ContinuousClock.Instant, resume waiter: Waiter) {
        waiter.resume(returning: .timedOut)
    }
    func wakeReader() {}
    func waitToWrite(until deadline: ContinuousClock.Instant) throws(WaitError) { throw .timedOut }
    func endWriting() {}
    func close() { self.isClosed = true }
}
