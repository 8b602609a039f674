import HTTPTypes
import Reactor
import Testing

@testable import SocketHTTP

private let goOn = RawClient.Response(status: "HTTP/1.1 100 Continue")

@Suite(.timeLimit(.minutes(5))) struct BodyTests {
    @Test func clientThatExpects100GetsItWhenTheBodyIsRead() async throws {
        try await withServer { test in
            let client = try test.client()
            for framing in ["Content-Length: 3", "Transfer-Encoding: chunked"] {
                try await client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\(framing)\r\n\r\n")
                #expect(try await client.response() == goOn)
                try await client.send(framing.hasPrefix("C") ? "abc" : "3\r\nabc\r\n0\r\n\r\n")
                #expect(try await client.response().body == "POST / abc")
            }
        }
    }

    @Test func clientThatDoesNotWaitGetsNo100() async throws {
        try await withServer { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc")
            #expect(try await client.response().body == "POST / abc")
        }
    }

    @Test func clientThatExpects100IsClosedAfterARefusal() async throws {
        try await withServer(answer: { _ in Response(status: .forbidden) }) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
            let response = try await client.response()
            #expect(response.status == "HTTP/1.1 403 Forbidden")
            #expect(response.value("Connection") == "close")
            #expect(try await client.rest() == "")
        }
    }

    @Test(arguments: ["Content-Length: 11\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n5\r\n"])
    func aBodyOverTheLimitIsRefusedBeforeItComes(rest: String) async throws {
        try await withServer(limits: ServerLimits { $0.bodyBytes = 10 }) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(rest)")
            let response = try await client.response()
            #expect(response.status == "HTTP/1.1 413 Content Too Large")
            #expect(response.body == "tooLarge")
        }
    }

    @Test func aBodyOfExactlyTheLimitIsTaken() async throws {
        try await withServer(limits: ServerLimits { $0.bodyBytes = 10 }) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789")
            #expect(try await client.response().body == "POST / 0123456789")
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await client.send("a\r\n0123456789\r\n0\r\n\r\n")
            #expect(try await client.response().body == "POST / 0123456789")
        }
    }

    @Test func exchangedLimitsHoldForConnectionsThatBeginAfterwards() async throws {
        try await withServer(limits: ServerLimits { $0.bodyBytes = 10 }) { test in
            let (old, post) = (try test.client(), "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789")
            try await old.send(post)
            #expect(try await old.response().body == "POST / 0123456789")
            test.server.replaceLimits(ServerLimits { $0.bodyBytes = 9 })
            try await old.send(post)
            #expect(try await old.response().body == "POST / 0123456789")
            let new = try test.client()
            try await new.send(post)
            #expect(try await new.response().status == "HTTP/1.1 413 Content Too Large")
        }
    }

    @Test func aHandlerMayAskForAnotherLimit() async throws {
        let answer: @Sendable (Request) async -> Response = { request in
            do throws(BodyError) {
                return Response(status: .ok, body: try await request.body.collect(upTo: 20))
            } catch {
                return Response(status: error.refusal.status)
            }
        }
        try await withServer(limits: ServerLimits { $0.bodyBytes = 10 }, answer: answer) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n01234567890123456789")
            #expect(try await client.response().body == "01234567890123456789")
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 21\r\n\r\n")
            #expect(try await client.response().status == "HTTP/1.1 413 Content Too Large")
        }
    }

    @Test func bodyIsTheSameWhenReadAgain() async throws {
        let answer: @Sendable (Request) async -> Response = { request in
            do throws(BodyError) {
                return Response(status: .ok, body: try await request.body.collect() + request.body.collect())
            } catch {
                return Response(status: error.refusal.status)
            }
        }
        try await withServer(answer: answer) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab")
            #expect(try await client.response().body == "abab")
        }
    }

    @Test func truncatedBodyIsNeverTakenAsComplete() async throws {
        try await withServer { test in
            for rest in ["Content-Length: 4\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"] {
                let client = try test.client()
                try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(rest)")
                client.stream.endWriting()
                #expect(try await client.response().body == "closed")
            }
        }
    }

    @Test func aBodyThatIsBadlyFramedIsRefusedAndEndsTheConnection() async throws {
        try await withServer { test in
            let client = try test.client()
            try await client.send(
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\nGET / HTTP/1.1\r\n"
            )
            let response = try await client.response()
            #expect(response.status == "HTTP/1.1 400 Bad Request")
            #expect(response.body == "malformed")
            #expect(response.value("Connection") == "close")
            #expect(try await client.rest() == "")
        }
    }

    @Test(arguments: [
        ("Content-Length: 3\r\n\r\nabc", "", nil as String?),
        ("Content-Length: 60000\r\n\r\n", String(repeating: "x", count: 60_000), nil),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "", nil),
        ("Content-Length: 100000000\r\n\r\nabc", "", "close"),
        ("Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "", "close"),
        ("Transfer-Encoding: chunked\r\n\r\nx", "", "close"),
    ])
    func anUnreadBodyIsDroppedOrElseEndsTheConnection(head: String, tail: String, connection: String?) async throws {
        try await withServer(answer: { _ in Response(status: .ok) }) { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(head)")
            #expect(try await client.response().value("Connection") == connection)
            if connection == nil {
                try await client.send("\(tail)BREW / HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await client.response().status == "HTTP/1.1 501 Not Implemented")
            }
            #expect(try await client.rest() == "")
        }
    }

    @Test func aClientThatSendsOnReadsTheErrorBeforeTheEnd() async throws {
        try await withServer { test in
            let client = try test.client()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n")
            // The server continues to read for a while before it closes the socket. Otherwise
            // these bytes would cause a reset, which would discard the response.
            for _ in 0..<9 {
                try await client.send(String(repeating: "x", count: 100_000))
                await Task.yield()
            }
            #expect(try await client.response().status == "HTTP/1.1 413 Content Too Large")
            #expect(try await client.rest() == "")
        }
    }
}
