import Foundation
import PushTesting
import Testing

/// A daemon behind a proxy that runs with its file in `config/`, and `curl` as the client of both.
struct Site: Sendable {
    enum Proxy: String, CaseIterable, Sendable {
        case nginx, haproxy
    }

    /// How the proxy reaches the daemon.
    enum Link: String, CaseIterable, Sendable {
        case tcp, unix
    }

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
    private let port: UInt16

    private var socket: String { self.folder.file("http.sock") }

    /// Runs both as long as `body` does, with the user `alice`; what the daemon has logged by then.
    ///
    /// `file` is the proxy's in `config/`, without its extension, if it is not the usual one; `prepare` may put into the
    /// folder what that needs.
    static func run(
        _ proxy: Proxy,
        _ link: Link,
        file: String? = nil,
        settings: [String: String] = [:],
        prepare: (TemporaryFolder) async throws -> Void = { _ in },
        _ body: (Site) async throws -> Void
    ) async throws -> String {
        let folder = try TemporaryFolder()
        try await prepare(folder)
        _ = try await Daemon.run(["user", "add", "alice", "--password-stdin"], in: folder, input: Stack.password)
        let socket = "unix:\(folder.file("http.sock"))"
        let daemon = try await Daemon(
            in: folder,
            settings: [
                "SERVER_LISTEN": "[127.0.0.1:0, \(socket)]", "SERVER_TRUSTEDPROXIES": "[127.0.0.1, unix]",
                "LOG_LEVEL": "debug",
            ].merging(settings) { $1 }
        )
        let port = try QuickStartTests.freePort()
        let upstream = link == .unix ? socket : "127.0.0.1:\(daemon.port)"
        let process = try Scripts.start("proxy", [file ?? proxy.rawValue, "127.0.0.1:\(port)", upstream, folder.path])
        let notice = proxy == .nginx ? "epoll" : "Loading success"
        #expect(await process.errors(until: notice).contains(notice))
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(Site(folder: folder, daemon: daemon, link: link, port: port)))
        } catch {
            result = .failure(error)
        }
        process.signal(SIGTERM)
        _ = await process.end()
        let ended = await daemon.terminated()
        #expect(ended.code == 0)
        try result.get()
        return ended.errors
    }

    /// Sends a request through the proxy with `curl`, as `alice` unless `user` is empty; to another port if one is given.
    func curl(
        _ path: String,
        as user: String = "alice",
        password: String = Stack.password,
        port: Int? = nil,
        _ options: String...
    ) async throws -> Answer {
        try await self.curl(path, as: user, password: password, port: port, options: options)
    }

    func curl(
        _ path: String,
        as user: String = "alice",
        password: String = Stack.password,
        port: Int? = nil,
        options: [String]
    ) async throws -> Answer {
        let credentials = user.isEmpty ? [] : ["--user", "\(user):\(password)"]
        let ended = try await ChildProcess(
            "/usr/bin/curl",
            ["--silent", "--show-error", "--max-time", "60", "--dump-header", "head"] + credentials + options
                + ["http://127.0.0.1:\(port ?? Int(self.port))\(path)"],
            in: self.folder.path
        ).end()
        try #require(ended.code == 0, "\(ended.errors)")
        let heads = try String(contentsOfFile: self.folder.file("head"), encoding: .utf8)
        // The one before may be 100, go on.
        let head = try #require(heads.components(separatedBy: "\r\n\r\n").last { !$0.isEmpty })
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return Answer(status: try #require(status), head: head, body: ended.output)
    }

    /// How many connections the daemon has at this moment, at the address that the proxy uses.
    func connections() throws -> Int {
        // Not at one go, as a file of no length: that would end after the first piece.
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/net/\(self.link)"))
        let table = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        let rows = table.split(whereSeparator: \.isNewline).map { $0.split(separator: " ") }
        switch self.link {
        case .tcp:
            // The second column is the local address, the fourth the state: 01 is established.
            let port = String(self.daemon.port, radix: 16, uppercase: true)
            return rows.count { $0.count > 3 && $0[1].hasSuffix(":\(port)") && $0[3] == "01" }
        case .unix:
            // The sixth column is the state: 03 is connected; the last one the path.
            return rows.count { $0.count > 7 && $0[5] == "03" && $0[7] == self.socket }
        }
    }
}

/// What is in `scripts/`.
enum Scripts {
    /// Starts one of them.
    static func start(_ name: String, _ arguments: [String]) throws -> ChildProcess {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../scripts")
        return try ChildProcess(
            folder.standardizedFileURL.appending(path: name).path,
            arguments,
            in: folder.path,
            environment: ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]
        )
    }
}
