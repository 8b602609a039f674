import Foundation
import Glibc
import PushTesting
import Reactor
import Testing

@testable import PushApplication

/// A deeply nested body costs the server little more processor time than a flat one. The test
/// measures the daemon's time from outside.
@Suite(.timeLimit(.minutes(5))) struct DeepNestingTests {
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

    /// Measures the daemon's processor time, because other processes do not affect it.
    @Test func deepNestingCostsLittleMoreThanTextOfTheSameSize() async throws {
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
        // The first request makes the server hash the password. For later requests, the password
        // is in the cache.
        #expect(try client.post("{").contains("400 Bad Request"))
        for (name, body) in Self.bodies {
            let text = #"{"Payload":""# + String(repeating: "a", count: body.utf8.count - 12)
            let usual = try self.cost(of: text, named: "text", to: daemon, client)
            let cost = try self.cost(of: body, named: name, to: daemon, client)
            #expect(cost < usual * 4, "\(name)")
        }
        client.close()
        #expect(await daemon.terminate() == 0)
    }

    /// Makes the daemon refuse the body several times. Returns the processor time of the fastest
    /// attempt.
    private func cost(
        of body: String,
        named name: String,
        to daemon: Daemon,
        _ client: BlockingClient
    ) throws -> Duration {
        var least = Duration.seconds(60)
        for _ in 0..<5 {
            let start = try self.computingTime(of: daemon)
            let answer = try client.post(body)
            least = min(least, try self.computingTime(of: daemon) - start)
            #expect(answer.hasPrefix("HTTP/1.1 400 "), "\(name): \(answer.prefix(300))")
            #expect(answer.contains("urn:sealpost:problem:invalid-json"), "\(name)")
        }
        return least
    }

    private func computingTime(of daemon: Daemon) throws -> Duration {
        var (clock, time) = (clockid_t(), timespec())
        try #require(clock_getcpuclockid(daemon.process.id, &clock) == 0 && clock_gettime(clock, &time) == 0)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// A connection that blocks the calling thread until each answer, so that measurements contain no
/// scheduling of tasks.
private struct BlockingClient {
    private let socket: Int32

    struct Failure: Error {}

    init(port: Int) throws {
        self.socket = try ClientSocket.connect(to: .loopback(UInt16(port)))
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(self.socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    func close() { _ = Glibc.close(self.socket) }

    /// Returns the answer, which is small and fits into one read.
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
