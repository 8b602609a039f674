import Foundation
import PushTesting
import Testing

/// The command `sealpost health`, which a container's health check runs.
@Suite(.timeLimit(.minutes(5))) struct HealthCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func aServerIsAliveAndReadyUntilItEnds() async throws {
        let daemon = try await Daemon(in: self.folder)
        // In a container image the server listens on all addresses.
        let environment = ["SEALPOST_SERVER_LISTEN": "0.0.0.0:\(daemon.port)"]
        let alive = try await Daemon.run(["health"], in: self.folder, environment: environment)
        #expect(alive.code == 0 && alive.output == "127.0.0.1:\(daemon.port) is alive\n", "\(alive.errors)")
        let ready = try await Daemon.run(["health", "--ready"], in: self.folder, environment: environment)
        #expect(ready.code == 0 && ready.output == "127.0.0.1:\(daemon.port) is ready\n", "\(ready.errors)")
        #expect(await daemon.terminate() == 0)
        let gone = try await Daemon.run(["health"], in: self.folder, environment: environment)
        #expect(gone.code == 1 && gone.output.isEmpty)
        let reason = "127.0.0.1:\(daemon.port) does not answer: could not connect: Connection refused"
        #expect(gone.errors.hasPrefix("sealpost: \(reason)\n"), "\(gone.errors)")
    }

    @Test func aTLSServerIsCheckedWhateverNameItsCertificateHas() async throws {
        let files = try TLSFolder()
        try files.writeServer("push.example.com")
        try files.configure()
        let daemon = try await files.start()
        let arguments = ["health", "--config", "sealpost.yaml", "--address", "127.0.0.1:\(daemon.port)"]
        let ended = try await Daemon.run(arguments, in: files.folder)
        #expect(ended.code == 0 && ended.output == "127.0.0.1:\(daemon.port) is alive\n", "\(ended.errors)")
        #expect(await daemon.terminate() == 0)
    }

    @Test func aServerOnAUnixSocketIsCheckedThere() async throws {
        let listen = "[127.0.0.1:0, 'unix:http.sock']"
        let daemon = try await Daemon(in: self.folder, settings: ["SERVER_LISTEN": listen])
        let environment = ["SEALPOST_SERVER_LISTEN": "unix:http.sock"]
        let ended = try await Daemon.run(["health", "--ready"], in: self.folder, environment: environment)
        #expect(ended.code == 0 && ended.output == "unix:http.sock is ready\n", "\(ended.errors)")
        #expect(await daemon.terminate() == 0)
    }

    @Test func aSilentServerFailsAtTheTimeout() async throws {
        let socket = try HeldSocket()
        let arguments = ["health", "--timeout", "1", "--address", "127.0.0.1:\(socket.port)"]
        let ended = try await Daemon.run(arguments, in: self.folder)
        #expect(ended.code == 1)
        #expect(ended.errors.hasPrefix("sealpost: 127.0.0.1:\(socket.port) does not answer: timed out\n"))
    }

    @Test(arguments: [
        (true, "503", "is not ready: the disk is full\\u000a\n"),
        (true, "500", "is not ready: the disk is full\\u000a\n"),
        (false, "200", "answers with the status 200, but is not a Sealpost server\n"),
        (false, "400", "answers with the status 400, but is not a Sealpost server; if it speaks TLS, name its file"),
    ])
    func anUnexpectedAnswerFailsWithOneLine(echoes: Bool, status: String, reason: String) async throws {
        let peer = try ChildProcess(
            "/usr/bin/python3",
            ["-c", Self.peer, status, echoes ? "17" : "1"],
            in: self.folder.path
        )
        let port = try #require(await peer.output(until: "\n").firstMatch(of: /\d+/)).output
        let arguments = ["health", "--ready", "--address", "127.0.0.1:\(port)"]
        let ended = try await Daemon.run(arguments, in: self.folder)
        #expect(ended.code == 1 && ended.errors.hasPrefix("sealpost: 127.0.0.1:\(port) \(reason)"), "\(ended.errors)")
        peer.signal(SIGTERM)
        _ = await peer.end()
    }

    @Test(arguments: [
        (
            ["health"], "127.0.0.1:0",
            "the port of 127.0.0.1:0 is chosen when the server starts; set the address with --address"
        ),
        (
            ["health"], "example.com:8080",
            "SEALPOST_SERVER_LISTEN: \"example.com:8080\" must be a numeric address and a port, a port alone, or unix: and a"
        ),
        (["health", "--config", "none.yaml"], "127.0.0.1:1", "none.yaml: cannot be read: "),
    ])
    func aConfigurationWithoutAUsableAddressFails(
        arguments: [String],
        listen: String,
        reason: String
    ) async throws {
        let environment = ["SEALPOST_SERVER_LISTEN": listen]
        let ended = try await Daemon.run(arguments, in: self.folder, environment: environment)
        #expect(ended.code == 1)
        #expect(ended.errors.hasPrefix("sealpost: \(reason)"))
        // A second line names the configuration if the command has found it itself.
        #expect(ended.errors.split(separator: "\n").count == (arguments.contains("--config") ? 1 : 2))
    }

    /// A simulated server, in Python. It answers each request with a given status, and with
    /// `MyToken` multiplied by a given factor.
    private static let peer = """
        import http.server, sys
        class Peer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = b'{"detail": "the disk is full\\\\n"}'
                self.send_response(int(sys.argv[1]))
                self.send_header("MyToken", str(int(self.headers["MyToken"]) * int(sys.argv[2]) + 3))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def log_message(self, *words): pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Peer)
        print(server.server_port, flush=True)
        server.serve_forever()
        """
}
