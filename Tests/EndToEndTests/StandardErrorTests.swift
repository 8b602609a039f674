import Foundation
import PushTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The real executable, with a standard error that accepts no bytes.
@Suite(.timeLimit(.minutes(5))) struct StandardErrorTests {
    /// Levels of the log. At each level, the daemon logs fewer lines than at the level before.
    private static let levels = ["trace", "info", "error"]

    private let folder: TemporaryFolder
    private let socket: HeldSocket

    init() throws {
        self.folder = try TemporaryFolder()
        self.socket = try HeldSocket()
    }

    @Test(arguments: Self.levels)
    func aFullDiskDelaysNeitherRequestsNorTheShutdown(level: String) async throws {
        let daemon = try self.daemon(level: level, errors: "/dev/full")
        #expect(await self.ask("Authorization: Bearer spt_wrong", 20, expecting: "HTTP/1.1 401") == 20)
        #expect(await self.ask("Accept: */*", 200, expecting: "HTTP/1.1 404") == 200)
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test(arguments: Self.levels)
    func anUnreadPipeDelaysNeitherRequestsNorTheShutdown(level: String) async throws {
        let pipe = try UnreadPipe()
        pipe.fill()
        let daemon = try self.daemon(level: level, errors: "&4", descriptors: [pipe.end])
        #expect(await self.ask("Authorization: Bearer spt_wrong", 20, expecting: "HTTP/1.1 401") == 20)
        #expect(await self.ask("Accept: */*", 1000, expecting: "HTTP/1.1 404") == 1000)
        daemon.signal(SIGTERM)
        #expect(await daemon.end().code == 0)
    }

    @Test func aReturningReaderLearnsTheNumberOfDroppedLines() async throws {
        _ = try await Daemon.run(
            ["user", "add", "ada", "--role", "admin", "--password-stdin"],
            in: folder,
            input: "correct horse\n"
        )
        let pipe = try UnreadPipe()
        pipe.fill()
        let daemon = try self.daemon(level: "debug", errors: "&4", descriptors: [pipe.end])
        #expect(await self.ask("Accept: */*", 5000, expecting: "HTTP/1.1 404") == 5000)
        let told = await UnreadPipe.blocking {
            var (answered, told) = (0, 0)
            _ = pipe.readLines { line in
                if line.contains("request answered") { answered += 1 }
                if let match = line.wholeMatch(of: /.* level=warning log lines were dropped count=(\d+)/) {
                    told += Int(match.1) ?? 0
                }
                return answered + told >= 5000
            }
            return answered + told == 5000 ? told : 0
        }
        #expect(told > 0)
        let metrics = try await self.metrics()
        #expect(metrics.contains("\nsealpost_log_lines_dropped_total \(told)\n"))
        daemon.signal(SIGTERM)
        // The daemon writes its last lines now. The test reads them, so that the daemon need not
        // wait.
        async let ended = daemon.end()
        _ = await UnreadPipe.blocking { pipe.readLines { $0.hasSuffix("stopped") } }
        #expect(await ended.code == 0)
    }

    @Test func theLastLineIsWrittenBeforeTheEnd() async throws {
        let daemon = try await Daemon(in: self.folder)
        let ended = await daemon.terminated()
        #expect(ended.errors.hasSuffix("level=info stopped\n"), "\(ended.errors)")
    }

    /// The disk fails for the daemon, because none of its files may grow beyond 300 KiB.
    @Test(arguments: [true, false]) func aFatalErrorEndsTheProcessAndIsLoggedIfPossible(isRead: Bool) async throws {
        try await Daemon.makeAlice(in: folder)
        let pipe = try UnreadPipe()
        if !isRead { pipe.fill() }
        let daemon = try self.daemon(
            after: #"trap "" XFSZ; ulimit -f 600"#,
            level: "info",
            errors: "&4",
            descriptors: [pipe.end]
        )
        var request = try self.request("/api/notifications", as: "alice")
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = Data(#"{"Payload":"\#(String(repeating: "x", count: 30_000))"}"#.utf8)
        let code = await withTaskGroup(of: Int32?.self) { [request] group in
            group.addTask { await daemon.end().code }
            group.addTask {
                // The last request gets no answer, because the daemon no longer accepts
                // connections.
                while !Task.isCancelled { _ = try? await URLSession.shared.data(for: request) }
                return nil
            }
            let code = await group.next()
            group.cancelAll()
            return code
        }
        #expect(code == 1)
        if isRead {
            let lines = String(decoding: pipe.readSome(), as: UTF8.self)
            #expect(lines.contains(#"level=critical storage failed; exiting"#))
        }
    }

    @Test func aCommandThatCannotPrintFailsAndSaysWhy() async throws {
        try await Daemon.makeAlice(in: folder)
        let ended = try await ChildProcess(
            "/bin/sh",
            ["-c", #"exec "$0" doctor >/dev/full"#, Daemon.executable],
            in: self.folder.path
        ).end()
        #expect(ended.code == 1)
        #expect(ended.errors == "sealpost: standard output cannot be written: No space left on device\n")
    }

    @Test func aCommandThatCannotComplainKeepsItsExitCode() async throws {
        let ended = try await ChildProcess(
            "/bin/sh",
            ["-c", #"exec "$0" serve --config none.yaml 2>/dev/full"#, Daemon.executable],
            in: self.folder.path
        ).end()
        #expect(ended.code == 78)
    }

    // MARK: - Steps

    /// Starts a daemon on the test's socket. Clients may connect to this socket before the daemon
    /// accepts connections.
    private func daemon(
        after preparation: String = ":",
        level: String,
        errors: String,
        descriptors: [Int32] = []
    ) throws -> ChildProcess {
        let start = #"LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" serve 2>\#(errors) 4>&-"#
        return try ChildProcess(
            "/bin/sh",
            ["-c", "\(preparation); \(start)", Daemon.executable],
            in: self.folder.path,
            environment: ["SEALPOST_LOG_LEVEL": level],
            descriptors: [self.socket.descriptor] + descriptors
        )
    }

    /// Sends `count` requests over one connection, a hundred at a time. Returns the number of
    /// answers with `status` that arrived without delay.
    private func ask(_ field: String, _ count: Int, expecting status: String) async -> Int {
        await UnreadPipe.blocking { [port = self.socket.port] in
            // If the server has ended, no request is answered.
            guard let client = try? ClientSocket.connect(to: .loopback(UInt16(port))) else { return 0 }
            defer { close(client) }
            var timeout = timeval(tv_sec: 10, tv_usec: 0)
            setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            let path = field.hasPrefix("Authorization") ? "/api/notifications/1" : "/nothing"
            let request = "GET \(path) HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n\r\n"
            var answered = 0
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while answered < count {
                let requests = String(repeating: request, count: min(100, count - answered))
                send(client, requests, requests.utf8.count, Int32(MSG_NOSIGNAL))
                var text = ""
                let due = min(100, count - answered)
                var seen = 0
                while seen < due {
                    let length = recv(client, &buffer, buffer.count, 0)
                    if length <= 0 { return answered + seen }
                    text += String(decoding: buffer[..<length], as: UTF8.self)
                    seen = text.matches(of: /HTTP\/1.1 \d+/).count { $0.output == status }
                }
                answered += due
            }
            return answered
        }
    }

    private func metrics() async throws -> String {
        let request = try self.request("/metrics", as: "ada")
        return String(decoding: try await URLSession.shared.data(for: request).0, as: UTF8.self)
    }

    private func request(_ path: String, as user: String) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(self.socket.port)\(path)")))
        let credentials = Data("\(user):correct horse".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        request.timeoutInterval = 30
        return request
    }
}
