import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushApplication

/// A daemon behind proxies, with `curl` as a client of the proxies or of the daemon.
struct Site: Sendable {
    enum Proxy: String, Sendable {
        case nginx, haproxy, varnish, squid
        /// The program `scripts/proxies/wire-answers.py`, which changes the bytes of answers.
        case wire

        /// The text that the proxy prints when it listens.
        var notice: String {
            switch self {
            case .nginx: "epoll"
            case .haproxy: "Loading success"
            case .varnish, .wire: "Listening"
            case .squid: "Accepting reverse-proxy"
            }
        }
    }

    /// The kind of connection from the proxy to the daemon.
    enum Link: String, Sendable {
        case tcp, unix
    }

    /// A proxy with its file in `config/`, and the kind of its connection to the daemon.
    struct Way: Sendable, CustomTestStringConvertible {
        let proxy: Proxy
        let link: Link

        var testDescription: String { "\(self.proxy) over \(self.link)" }

        /// All combinations that work. Outside of `make e2e`, the list omits the proxies that only
        /// `make e2e` installs.
        static let all: [Way] = {
            let usual = [Way(.nginx, .tcp), Way(.nginx, .unix), Way(.haproxy, .tcp), Way(.haproxy, .unix)]
            // Squid does not support unix sockets.
            return Site.hasAllProxies ? usual + [Way(.varnish, .tcp), Way(.varnish, .unix), Way(.squid, .tcp)] : usual
        }()

        private init(_ proxy: Proxy, _ link: Link) {
            self.proxy = proxy
            self.link = link
        }
    }

    /// A proxy between the client and the daemon.
    struct Layer: Sendable {
        let proxy: Proxy
        /// The path of the proxy's file, relative to `scripts/`. If `nil`, the proxy uses its file
        /// in `config/`.
        var file: String?
        /// The value of the variable `HOW` in the proxy's file: which answers it changes, and how.
        var how = ""
    }

    /// Whether `make e2e` runs, which also installs Varnish and Squid.
    static let hasAllProxies = ProcessInfo.processInfo.environment["SEALPOST_TEST_PROXIES"] == "all"

    struct Answer {
        let status: Int
        let head: String
        let body: String

        func values(_ name: String) -> [String] {
            self.head.split(separator: "\r\n").compactMap { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
                return parts[1].trimmingCharacters(in: .whitespaces)
            }
        }
    }

    let folder: TemporaryFolder
    let daemon: Daemon
    let link: Link
    private let chain: ProxyChain

    /// The address of the outermost proxy.
    var server: URL {
        get throws { try #require(URL(string: "http://127.0.0.1:\(self.chain.port)")) }
    }

    private var socket: String { self.folder.file("http.sock") }

    /// Runs a proxy with its file in `config/` in front of a daemon.
    static func run(_ proxy: Proxy, _ link: Link, _ body: (Site) async throws -> Void) async throws -> String {
        try await self.run([Layer(proxy: proxy)], link, body)
    }

    /// Runs a daemon with the users `users` behind a chain of proxies while `body` runs. Returns
    /// the daemon's log.
    ///
    /// Clients connect to the first of the layers. `prepare` may put files into the daemon's
    /// folder, which is also the folder of the last layer.
    static func run(
        _ layers: [Layer],
        _ link: Link,
        users: [String] = ["alice"],
        settings: [String: String] = [:],
        prepare: (TemporaryFolder) async throws -> Void = { _ in },
        _ body: (Site) async throws -> Void
    ) async throws -> String {
        let folder = try TemporaryFolder()
        try await prepare(folder)
        try await self.add(users, in: folder)
        let socket = "unix:\(folder.file("http.sock"))"
        let daemon = try await Daemon(
            in: folder,
            settings: [
                "SERVER_LISTEN": "[127.0.0.1:0, \(socket)]", "SERVER_TRUSTEDPROXIES": "[127.0.0.1, unix]",
                "LOG_LEVEL": "debug",
            ].merging(settings) { $1 }
        )
        let chain = ProxyChain(
            port: try QuickStartTests.freePort(),
            upstream: link == .unix ? socket : "127.0.0.1:\(daemon.port)",
            folder: folder.path
        )
        let result: Result<Void, any Error>
        do {
            try await chain.replace(with: layers)
            result = .success(try await body(Site(folder: folder, daemon: daemon, link: link, chain: chain)))
        } catch {
            result = .failure(error)
        }
        await chain.stop()
        let ended = await daemon.terminated()
        #expect(ended.code == 0)
        try result.get()
        return ended.errors
    }

    /// Adds users to the database of a daemon that starts later. A `sealpost` command for each
    /// user would take longer than the test.
    private static func add(_ users: [String], in folder: TemporaryFolder) async throws {
        var configuration = Configuration()
        for path in [\Configuration.database, \.keys] {
            configuration[keyPath: path] = folder.file(configuration[keyPath: path])
        }
        let store = try configuration.openStore()
        for user in users {
            let name = try #require(Username(user))
            _ = try await store.addUser(name, role: .device, password: Self.hash.get(), now: Date())
        }
        await store.close()
    }

    /// This hash is as strong as the hashes that the server makes. The server would replace a
    /// weaker hash.
    private static let hash = Result { try PasswordHash(of: Stack.password) }

    /// Replaces the running proxies. The new ones have the same address, so the change is like a
    /// phone's move to another network.
    func replaceProxies(with layers: [Layer]) async throws {
        try await self.chain.replace(with: layers)
    }

    /// Sends a request through the proxy with `curl`, with the credentials of `user`, or without
    /// credentials if `user` is empty. `port` overrides the proxy's port.
    func curl(
        _ path: String,
        as user: String = "alice",
        password: String = Stack.password,
        port: Int? = nil,
        _ options: String...
    ) async throws -> Answer {
        try await self.curl(path, as: user, password: password, port: port, options: options)
    }

    /// Sends a request with `curl`, which must end with the exit code `code`. The exit code 18
    /// means a truncated answer.
    func curl(
        _ path: String,
        as user: String = "alice",
        password: String = Stack.password,
        port: Int? = nil,
        code: Int32 = 0,
        options: [String]
    ) async throws -> Answer {
        let credentials = user.isEmpty ? [] : ["--user", "\(user):\(password)"]
        let head = "head-\(UUID().uuidString)"
        let ended = try await ChildProcess(
            "/usr/bin/curl",
            ["--silent", "--show-error", "--max-time", "60", "--dump-header", head] + credentials + options
                + ["http://127.0.0.1:\(port ?? Int(self.chain.port))\(path)"],
            in: self.folder.path
        ).end()
        try #require(ended.code == code, "\(ended.errors)")
        let heads = try String(contentsOfFile: self.folder.file(head), encoding: .utf8)
        try FileManager.default.removeItem(atPath: self.folder.file(head))
        // An earlier head may belong to an answer 100 (Continue), so only the last head counts.
        let last = try #require(heads.components(separatedBy: "\r\n\r\n").last { !$0.isEmpty })
        let status = last.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return Answer(status: try #require(status), head: last, body: ended.output)
    }

    /// Ends the daemon and waits for its end. The proxies keep running.
    func stopDaemon() async {
        self.daemon.process.signal(SIGTERM)
        // This reads the log until the daemon closes it, which is when the daemon ends.
        _ = await self.daemon.process.errors(until: "\0")
    }

    /// Returns the daemon's current number of connections at the address that the proxy uses.
    func connections() throws -> Int {
        // The kernel reports no length for this file. A function that reads only as many bytes as
        // the length says could stop after the first piece; `readToEnd` reads all pieces.
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/net/\(self.link)"))
        let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        let rows = table.split(whereSeparator: \.isNewline).map { $0.split(separator: " ") }
        switch self.link {
        case .tcp:
            // The second column is the local address, and the fourth the state: 01 is
            // established.
            let port = String(self.daemon.port, radix: 16, uppercase: true)
            return rows.count { $0.count > 3 && $0[1].hasSuffix(":\(port)") && $0[3] == "01" }
        case .unix:
            // The sixth column is the state: 03 is connected. The last column is the path.
            return rows.count { $0.count > 7 && $0[5] == "03" && $0[7] == self.socket }
        }
    }
}

/// The programs in `scripts/`.
enum Scripts {
    static let folder = Repository.file("scripts")

    /// Starts one of the end-to-end programs that `scripts/e2e list` lists.
    static func run(_ program: String, _ arguments: [String]) throws -> ChildProcess {
        try self.start("e2e", ["run", program] + arguments)
    }

    /// Starts a program of `scripts/`.
    static func start(
        _ name: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> ChildProcess {
        let usual = ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": try ScratchRoot.on(.memory).path]
        return try ChildProcess(
            self.folder.appending(path: name).path,
            arguments,
            in: self.folder.path,
            environment: environment.merging(usual) { $1 }
        )
    }
}
