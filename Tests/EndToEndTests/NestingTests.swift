import Foundation
import Glibc
import PushTesting
import Reactor
import Testing

@testable import sealpost

/// A body that nests without end costs the server nothing worth mentioning, measured from the outside.
@Suite(.timeLimit(.minutes(5))) struct NestingTests {
    private static let depth = 100_000

    private static func repeated(_ text: String) -> String { String(repeating: text, count: Self.depth) }

    private static let bodies = [
        "arrays": Self.repeated("["), "objects": Self.repeated(#"{"a":"#), "mixed": Self.repeated(#"[{"a":"#),
        "closed arrays": Self.repeated("[") + Self.repeated("]"),
        "closed objects": Self.repeated(#"{"a":"#) + "1" + Self.repeated("}"),
        "closed mixed": Self.repeated(#"[{"a":"#) + "1" + Self.repeated("}]"),
        "payload of arrays": #"{"Payload":"# + Self.repeated("[") + Self.repeated("]") + "}",
        "payload of objects": #"{"Payload":"# + Self.repeated(#"{"a":"#) + "1" + Self.repeated("}") + "}",
    ]

    /// The best of several tries, since the machine may have other things to do.
    @Test func aHundredThousandLevelsAreRefusedInTenMilliseconds() async throws {
        let folder = try TemporaryFolder()
        let made = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: folder,
            input: Stack.password
        )
        #expect(made.code == 0)
        let daemon = try await Daemon(
            in: folder,
            settings: ["SERVER_LISTEN": "127.0.0.1:0", "SERVER_LIMITS_BODYBYTES": "2097152"]
        )
        let client = try BlockingClient(port: daemon.port)
        // Hashes the password, which is remembered from then on.
        #expect(try client.post("{").contains("400 Bad Request"))
        for (name, body) in Self.bodies {
            var best = Duration.seconds(60)
            for _ in 0..<20 where best >= .milliseconds(10) {
                let start = ContinuousClock.now
                let answer = try client.post(body)
                best = min(best, start.duration(to: .now))
                #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(name): \(answer.prefix(300))")
                #expect(answer.contains("urn:sealpost:problem:invalid-json"), "\(name)")
            }
            #expect(best < .milliseconds(10), "\(name)")
        }
        client.close()
        #expect(await daemon.terminate() == 0)
    }
}

/// One connection, which waits for each answer on its own thread; for measuring.
private struct BlockingClient {
    private let socket: Int32

    struct Failure: Error {}

    init(port: Int) throws {
        self.socket = try ClientSocket.connect(to: .loopback(UInt16(port)))
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(self.socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    func close() { _ = Glibc.close(self.socket) }

    /// The answer, which fits into one read and is small.
    func post(_ body: String) throws -> String {
        let credentials = Data("alice:\(Stack.password)".utf8).base64EncodedString()
        let text = """
            POST /api/notifications HTTP/1.1\r
            Host: h\r
            Authorization: Basic \(credentials)\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { send(self.socket, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { throw Failure() }
            sent += count
        }
        var received: [UInt8] = []
        while true {
            var buffer = [UInt8](repeating: 0, count: 8192)
            let count = recv(self.socket, &buffer, buffer.count, 0)
            guard count > 0 else { throw Failure() }
            received += buffer[..<count]
            let answer = String(decoding: received, as: UTF8.self)
            let parts = answer.components(separatedBy: "\r\n\r\n")
            let length = answer.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.output.1) }
            if parts.count > 1, let length, parts[1].utf8.count >= length { return answer }
        }
    }
}
