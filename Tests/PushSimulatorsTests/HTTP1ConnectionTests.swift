import PushTesting
import Reactor
import Testing

@testable import PushSimulators

@Suite(.timeLimit(.minutes(5))) struct HTTP1ConnectionTests {
    private static let limits = SimulatorServer.Limits(streamsBeforeProof: 1, streams: 1)

    /// Sends the text to a server that echoes bodies, and ends the client's side. Returns all
    /// answers.
    private func answers(to text: String) async throws -> String {
        try await withConnection { loop, server, client in
            _ = try Array(text.utf8).withUnsafeBytes { try client.write($0) }
            client.endWriting()
            await serveHTTP1(server, limits: Self.limits) { request in
                SimulatedResponse(
                    status: 200,
                    headers: [HeaderField("X-Target", "\(request.method) \(request.path)")],
                    body: request.body
                )
            }
            server.endWriting()
            var buffer = [UInt8](repeating: 0, count: 4096)
            var received: [UInt8] = []
            while let count = try buffer.withUnsafeMutableBytes({ try client.read(into: $0) }), count > 0 {
                received += buffer[..<count]
            }
            return String(decoding: received, as: UTF8.self)
        }
    }

    @Test func requestsOfOneConnectionAreAnsweredInOrder() async throws {
        let answers = try await self.answers(
            to: "POST /1 HTTP/1.1\r\ncontent-length: 2\r\n\r\nabGET /2 HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        #expect(
            answers == "HTTP/1.1 200 \r\nX-Target: POST /1\r\nContent-Length: 2\r\n\r\nab"
                + "HTTP/1.1 200 \r\nX-Target: GET /2\r\nContent-Length: 0\r\n\r\n"
        )
    }

    @Test(arguments: [
        "Transfer-Encoding: chunked", "Content-Length: -1", "Content-Length: x", "Content-Length: 99999999",
    ])
    func aBodyWhoseEndIsNotKnownIsRefused(header: String) async throws {
        let answers = try await self.answers(to: "POST / HTTP/1.1\r\n\(header)\r\n\r\nGET / HTTP/1.1\r\n\r\n")
        #expect(answers == "HTTP/1.1 400 \r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    }

    @Test(arguments: ["", "GET / HTTP/1.1\r\n", "GET\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\na"])
    func anIncompleteOrMalformedRequestGetsNoAnswer(text: String) async throws {
        #expect(try await self.answers(to: text) == "")
    }
}
