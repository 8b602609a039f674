import HTTPTypes
import Reactor
import Synchronization
import Testing

@testable import SocketHTTP

@Suite(.timeLimit(.minutes(5))) struct StreamingBodyTests {
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"

    /// Answers `/` with a streaming body, and all other paths with an echo.
    private func streamed(_ body: @escaping Response.StreamingBody) -> @Sendable (Request) async -> Response {
        { request in
            guard request.head.path == "/" else { return await echo(request) }
            return Response(status: .ok, streamingBody: body)
        }
    }

    @Test func pieceArrivesBeforeTheNextIsWritten() async throws {
        let (writers, handOver) = AsyncStream.makeStream(of: BodyWriter.self)
        let answer = self.streamed { writer in
            handOver.yield(writer)
            try await writer.write(Array("first".utf8))
            #expect(try await writer.wait(until: .now + .seconds(60)) == .rung)
            try await writer.write([])
            try await writer.write(Array("second, of 20 bytes.".utf8))
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send(Self.get)
            let head = try await client.response(bodyless: true)
            #expect(head.value("Transfer-Encoding") == "chunked")
            #expect(head.value("Content-Length") == nil)
            #expect(head.value("Connection") == nil)
            #expect(try await client.chunk() == "first")
            for await writer in writers {
                writer.ring()
                break
            }
            #expect(try await client.chunk() == "second, of 20 bytes.")
            #expect(try await client.chunk() == "")
            try await client.send("GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().body == "GET /next ")
        }
    }

    @Test func ringBeforeTheWaitIsNotLost() async throws {
        let answer = self.streamed { writer in
            writer.ring()
            // `ring` was called before the wait below, which must still end.
            try await writer.write(Array("a".utf8))
            while try await writer.wait(until: .now + .seconds(60)) != .rung {}
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send(Self.get)
            _ = try await client.response(bodyless: true)
            #expect(try await client.chunk() == "a")
            #expect(try await client.chunk() == "")
        }
    }

    @Test func anOldClientReadsUntilTheConnectionCloses() async throws {
        let answer = self.streamed { try await $0.write(Array("all of it".utf8)) }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let head = try await client.response(bodyless: true)
            #expect(head.value("Transfer-Encoding") == nil)
            #expect(head.value("Content-Length") == nil)
            #expect(head.value("Connection") == "close")
            #expect(try await client.rest() == "all of it")
        }
    }

    @Test func headRequestGetsTheFieldsAndRunsNoProducer() async throws {
        let answer = self.streamed { _ in Issue.record("nobody wants the body") }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\nGET /next HTTP/1.1\r\nHost: h\r\n\r\n")
            let head = try await client.response(bodyless: true)
            #expect(head.value("Transfer-Encoding") == "chunked")
            #expect(try await client.response().body == "GET /next ")
        }
    }

    @Test func aRequestThatCameMeanwhileIsAnsweredAfterwards() async throws {
        let answer = self.streamed { writer in
            #expect(try await writer.wait(until: .now + .milliseconds(50)) == .timedOut)
            try await writer.write(Array("a".utf8))
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send("\(Self.get)GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
            _ = try await client.response(bodyless: true)
            #expect(try await client.chunk() == "a")
            #expect(try await client.chunk() == "")
            #expect(try await client.response().body == "GET /next ")
        }
    }

    @Test func aBodyThatIsCutOffHasNoLastChunk() async throws {
        let answer = self.streamed { writer in
            try await writer.write(Array("a".utf8))
            throw CancellationError()
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send(Self.get)
            _ = try await client.response(bodyless: true)
            #expect(try await client.rest() == "1\r\na\r\n")
        }
    }

    @Test func streamingDoesNotCountTowardsTheHandlerTimeout() async throws {
        let answer = self.streamed { writer in
            _ = try await writer.wait(until: .now + .milliseconds(200))
            try await writer.write(Array("late".utf8))
        }
        try await withServer(limits: ServerLimits { $0.handlerTimeout = .milliseconds(30) }, answer: answer) { test in
            let client = try test.client()
            try await client.send(Self.get)
            #expect(try await client.response(bodyless: true).status == "HTTP/1.1 200 OK")
            #expect(try await client.chunk() == "late")
        }
    }

    /// How a client stops reading the stream.
    enum Leaving: CaseIterable {
        case closes
        case endsItsSide
        case sendsTooMuch
    }

    @Test(arguments: Leaving.allCases)
    func aProducerThatWaitsLearnsThatTheClientIsGone(leaving: Leaving) async throws {
        let (ends, end) = AsyncStream.makeStream(of: Bool.self)
        let answer = self.streamed { writer in
            do {
                _ = try await writer.wait(until: .now + .seconds(60))
                end.yield(false)
            } catch {
                end.yield(true)
                throw error
            }
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send(Self.get)
            _ = try await client.response(bodyless: true)
            switch leaving {
            case .closes: client.stream.close()
            case .endsItsSide: client.stream.endWriting()
            case .sendsTooMuch: try await client.send(String(repeating: "x", count: 100_000))
            }
            for await wasTold in ends {
                #expect(wasTold)
                break
            }
        }
    }

    @Test func aSlowReaderSuspendsTheProducerAndIsDroppedInTheEnd() async throws {
        let written = Atomic(0)
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let piece = [UInt8](repeating: 0x78, count: 65_536)
        let answer: @Sendable (Request) async -> Response = { _ in
            Response(status: .ok) { writer in
                defer { end.yield() }
                while true {
                    try await writer.write(piece)
                    written.add(1, ordering: .relaxed)
                }
            }
        }
        try await withServer(limits: ServerLimits { $0.writeTimeout = .milliseconds(300) }, answer: answer) { test in
            let client = try test.client(receiveBuffer: 4096)
            try await client.send(Self.get)
            for await _ in ends { break }
            // The writer has written only as much as the kernel's buffers can contain.
            #expect(written.load(ordering: .relaxed) < 1000)
            #expect(try await !client.rest().hasSuffix("0\r\n\r\n"))
        }
    }

    @Test func stopEndsWaitingProducersAtOnceAndCleanly() async throws {
        let answer = self.streamed { writer in
            try await writer.write(Array("a".utf8))
            #expect(try await writer.wait(until: .now + .seconds(3600)) == .serverStops)
            #expect(try await writer.wait(until: .now + .seconds(3600)) == .serverStops)
            try await writer.write(Array("z".utf8))
        }
        // If the shutdown waited for the body or for the grace period, the test would exceed its
        // time limit.
        try await withServer(grace: .seconds(3600), answer: answer) { test in
            let client = try test.client()
            try await client.send(Self.get)
            _ = try await client.response(bodyless: true)
            #expect(try await client.chunk() == "a")
            test.server.stop()
            #expect(try await client.rest() == "1\r\nz\r\n0\r\n\r\n")
        }
    }

    @Test func anUnreadRequestBodyEndsTheConnectionWithTheResponse() async throws {
        let answer = self.streamed { try await $0.write(Array("a".utf8)) }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n")
            #expect(try await client.response(bodyless: true).value("Connection") == "close")
            #expect(try await client.rest() == "1\r\na\r\n0\r\n\r\n")
        }
    }
}
