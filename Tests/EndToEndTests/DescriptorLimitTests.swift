import Foundation
import Glibc
import PushTesting
import Testing

@testable import PushApplication

/// A daemon that may open only a few file descriptors.
@Suite(.timeLimit(.minutes(5))) struct DescriptorLimitTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func theSoftLimitIsRaisedToTheHardOne() async throws {
        let (daemon, start) = try await self.daemon(after: "ulimit -S -n 100; ulimit -H -n 500")
        let id = try #require(await daemon.output(until: "\n").split(separator: "\n").first)
        let limits = try String(contentsOfFile: "/proc/\(id)/limits", encoding: .utf8)
        #expect(limits.contains(/Max open files +500 +500/))
        #expect(start.contains("the descriptor limit allows fewer connections than server.limits.maxConnections"))
        // A part of the limit is reserved for files, so the limit alone does not explain the
        // warning.
        #expect(start.contains(/allowed=2\d\d limit=500 maxConnections=20000 needed=20256/), "\(start)")
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    /// Clients that the daemon cannot accept wait until other clients have left. The clients that
    /// it has accepted are not affected.
    @Test func clientsWaitForFreeDescriptorsAndAllAreAnswered() async throws {
        let (daemon, start) = try await self.daemon(after: "ulimit -n 64")
        let port = try #require(start.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { UInt16($0.output.1) })
        let clients = try (0..<200).map { _ in try Client(port: port) }
        // The daemon reserves half of the free descriptors for files and for its own connections.
        let id = try #require(await daemon.output(until: "\n").split(separator: "\n").first)
        let descriptors = { try FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/fd").count }
        try await eventually { try descriptors() >= 50 }
        #expect(try descriptors() < 62)
        // The clients that connected last send their requests first. The clients that the daemon
        // has already accepted are therefore the last to send.
        for client in clients.reversed() { client.ask() }
        for client in clients {
            #expect(await client.answer().hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
        daemon.signal(SIGTERM)
        let ended = await daemon.end()
        #expect(ended.code == 0)
        #expect(!ended.errors.contains("level=error"))
    }

    /// Starts a daemon. Returns the process, and the log of its start. The first line of its
    /// output is the daemon's process id.
    private func daemon(after limits: String) async throws -> (ChildProcess, String) {
        let process = try ChildProcess(
            "/bin/sh",
            ["-c", "\(limits); echo $$; exec \"$0\" serve", Daemon.executable],
            in: self.folder.path,
            // On a busy machine, it takes the clients long to send their requests.
            environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_SERVER_LIMITS_HEADERTIMEOUT": "600"]
        )
        return (process, await process.errors(until: "serving"))
    }
}

/// A connection that sends one request.
private final class Client: Sendable {
    private let socket: Int32

    init(port: UInt16) throws {
        // The kernel accepts the connection, even if the daemon does not.
        self.socket = try ClientSocket.connect(to: .loopback(port))
    }

    deinit {
        close(self.socket)
    }

    func ask() {
        let request = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        _ = send(self.socket, request, request.utf8.count, Int32(MSG_NOSIGNAL))
    }

    /// Returns the bytes until the daemon closes the connection.
    func answer() async -> String {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [socket] in
                var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
                while case let count = recv(socket, &buffer, buffer.count, 0), count > 0 { bytes += buffer[..<count] }
                continuation.resume(returning: String(decoding: bytes, as: UTF8.self))
            }
        }
    }
}
