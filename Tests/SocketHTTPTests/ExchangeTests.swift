import Glibc
import HTTPTypes
import Reactor
import Testing

@testable import SocketHTTP

@Suite(.timeLimit(.minutes(5))) struct ExchangeTests {
    @Test func aConnectionServesOneRequestAfterTheOther() async throws {
        try await withServer { test in
            let client = try test.client()
            for number in 1...3 {
                try await client.send("GET /\(number) HTTP/1.1\r\nHost: h\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == "HTTP/1.1 200 OK")
                #expect(response.body == "GET /\(number) ")
                #expect(response.value("Connection") == nil)
                #expect(response.value("Date")?.utf8.count == 29)
            }
        }
    }

    @Test func requestsSentTogetherAreAnsweredInTheirOrder() async throws {
        try await withServer { test in
            let client = try test.client()
            let requests = (1...200).map {
                "POST /\($0) HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n\(String(repeating: "x", count: 100))"
            }
            try await client.send(requests.joined())
            for number in 1...200 {
                #expect(try await client.response().body.prefix(10).hasPrefix("POST /\(number) "))
            }
        }
    }

    @Test func aRequestMayComeByteByByte() async throws {
        try await withServer { test in
            let client = try test.client()
            let text = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            for byte in text.unicodeScalars {
                try await client.send(String(byte))
                await Task.yield()
            }
            #expect(try await client.response().body == "POST /a abc")
        }
    }

    @Test func bodiesOfEitherFramingArriveWhole() async throws {
        try await withServer { test in
            let client = try test.client()
            let body = String(repeating: "0123456789abcdef", count: 8192)
            try await client.send("PUT /f HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
            #expect(try await client.response().body == "PUT /f \(body)")
            let chunks = String(repeating: "10\r\n0123456789abcdef\r\n", count: 8192)
            try await client.send(
                "PUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\nX: y\r\n\r\n"
            )
            #expect(try await client.response().body == "PUT /c \(body)")
        }
    }

    @Test func headIsAnsweredLikeGetButForTheBody() async throws {
        try await withServer { test in
            let client = try test.client()
            try await client.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response(bodyless: true).value("Content-Length") == "8")
            let next = try await client.response()
            #expect(next.status == "HTTP/1.1 200 OK")
            #expect(next.body == "GET /b ")
        }
    }

    @Test(arguments: [204, 304]) func statusesWithoutContentSendNoBody(code: Int) async throws {
        let answer: @Sendable (Request) async -> Response = { request in
            request.head.path == "/b"
                ? Response(status: .ok) : Response(status: .init(code: code), body: Array("smuggled".utf8))
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().status == "HTTP/1.1 \(code) ")
            #expect(try await client.response().status == "HTTP/1.1 200 OK")
        }
    }

    @Test func anInterimStatusOfAHandlerBecomesAnError() async throws {
        try await withServer(answer: { _ in Response(status: .init(code: 101)) }) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().status == "HTTP/1.1 500 Internal Server Error")
        }
    }

    @Test(arguments: [
        ("HTTP/1.1", "Connection: close\r\n", "close"),
        ("HTTP/1.0", "", "close"),
        ("HTTP/1.0", "Connection: keep-alive\r\n", "keep-alive"),
    ])
    func theClientDecidesHowLongTheConnectionLasts(version: String, field: String, answer: String) async throws {
        try await withServer { test in
            let client = try test.client()
            try await client.send("GET / \(version)\r\nHost: h\r\n\(field)\r\n")
            #expect(try await client.response().value("Connection") == answer)
            if answer == "close" {
                #expect(try await client.rest() == "")
            } else {
                try await client.send("GET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
                #expect(try await client.response().body == "GET /2 ")
            }
        }
    }

    @Test func aHandlerMayEndTheConnection() async throws {
        try await withServer(answer: { _ in Response(status: .ok, closesConnection: true) }) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().value("Connection") == "close")
            #expect(try await client.rest() == "")
        }
    }

    @Test func aConnectionEndsAfterItsLastRequest() async throws {
        try await withServer(limits: ServerLimits { $0.requestsPerConnection = 2 }) { test in
            let client = try test.client()
            try await client.send(String(repeating: "GET / HTTP/1.1\r\nHost: h\r\n\r\n", count: 3))
            #expect(try await client.response().value("Connection") == nil)
            #expect(try await client.response().value("Connection") == "close")
            #expect(try await client.rest() == "")
        }
    }

    @Test func aClientThatHasEndedItsSideStillGetsItsAnswers() async throws {
        try await withServer { test in
            let client = try test.client()
            try await client.send("GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n")
            client.stream.endWriting()
            #expect(try await client.response().body == "GET /1 ")
            #expect(try await client.response().body == "GET /2 ")
            #expect(try await client.rest() == "")
        }
    }

    @Test func aLargeResponseReachesASlowReader() async throws {
        let body = [UInt8](repeating: UInt8(ascii: "x"), count: 3_000_000)
        try await withServer(answer: { _ in Response(status: .ok, body: body) }) { test in
            let client = try test.client(receiveBuffer: 4096)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n")
            for _ in 0..<2 { #expect(try await client.response().body.utf8.count == body.count) }
        }
    }

    @Test func handlersKnowThePeerAndStayOnTheLoopOfTheirConnection() async throws {
        let answer: @Sendable (Request) async -> Response = { request in
            let text = "\(request.peer) \(request.loopIndex)"
            await Task.yield()
            return Response(status: .ok, body: Array(text.utf8))
        }
        try await withServer(answer: answer) { test in
            var answers: Set<String> = []
            for _ in 0..<4 {
                let client = try test.client()
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                answers.insert(try await client.response().body)
            }
            #expect(answers == ["127.0.0.1 0", "127.0.0.1 1"])
        }
    }

    @Test func anotherKindOfStreamMayWrapTheSocket() async throws {
        let makeStream: HTTPServer.StreamMaker = { descriptor in
            try await Task.sleep(for: .milliseconds(1))
            return SocketStream(descriptor)
        }
        try await withServer(opening: .init(makeStream: makeStream)) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().body == "GET / ")
        }
    }

    @Test func aStreamThatCannotBeMadeEndsTheConnection() async throws {
        try await withServer(opening: .init(makeStream: { _ in throw StreamError("no") })) { test in
            let client = try test.client()
            #expect(try await client.rest() == "")
        }
    }

    @Test func connectionAcceptedElsewhereIsServed() async throws {
        let loops = try EventLoopGroup(count: 1)
        defer { loops.stop() }
        let loop = loops.loops[0]
        let server = HTTPServer(listeners: [], loops: loops, responder: TestResponder(answer: echo))
        let response = try await withThrowingTaskGroup(of: RawClient.Response.self) { group in
            group.addTask(executorPreference: loop) {
                var pair: [Int32] = [0, 0]
                let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
                try SystemError.check("socketpair") { socketpair(AF_UNIX, type, 0, &pair) }
                let client = RawClient(SocketStream(try Descriptor(pair[0], on: loop)))
                let stream = SocketStream(try Descriptor(pair[1], on: loop))
                try await client.send("GET / HTTP/1.0\r\n\r\n")
                await server.serveConnection(stream, peer: .unix, on: loop)
                return try await client.response()
            }
            return try await group.next()
        }
        #expect(response?.body == "GET / ")
    }

    @Test func aLocalSocketIsServedToo() async throws {
        let path = "/tmp/sealpost-http-\(UInt64.random(in: 0 ... .max)).sock"
        defer { unlink(path) }
        let answer: @Sendable (Request) async -> Response = { Response(status: .ok, body: Array("\($0.peer)".utf8)) }
        try await withServer(at: .unix(path: path), answer: answer) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().body == "unix")
        }
    }

    @Test func localProcessIsIdentifiedByItsUser() async throws {
        let path = "/tmp/sealpost-http-\(UInt64.random(in: 0 ... .max)).sock"
        defer { unlink(path) }
        let answer: @Sendable (Request) async -> Response = { request in
            guard case .process(let user) = request.peer else { return Response(status: .forbidden) }
            return Response(status: .ok, body: Array("\(user) \(request.client) \(request.origin == nil)".utf8))
        }
        try await withServer(at: .unix(path: path), opening: .init(identifiesProcesses: true), answer: answer) { test in
            let client = try test.client()
            // On this socket, the server ignores a proxy's field about the client.
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n")
            #expect(try await client.response().body == "\(geteuid()) local true")
        }
    }

    @Test func tcpClientIsRefusedWhereProcessesAreIdentified() async throws {
        try await withServer(opening: .init(identifiesProcesses: true)) { test in
            let client = try test.client()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            await #expect(throws: (any Error).self) { _ = try await client.response() }
        }
    }
}
