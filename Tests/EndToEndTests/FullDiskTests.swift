import Foundation
import PushTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A file system that is really full: one in memory, in a mount namespace of the daemon's own.
@Suite(.timeLimit(.minutes(5))) struct FullDiskTests {
    private static let mounting = #"mkdir -p disk && mount -t tmpfs -o size=4m,mode=0700 tmpfs "$PWD/disk""#

    private static func isAllowedToMount() async throws -> Bool {
        let folder = try TemporaryFolder()
        let tried = try ChildProcess("/usr/bin/unshare", ["--mount", "/bin/sh", "-c", self.mounting], in: folder.path)
        return await tried.end().code == 0
    }

    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() }, .timeLimit(.minutes(5)))
    func aFullDiskRefusesWhatMustBeStoredAndIsOverOnceThereIsRoom() async throws {
        let script = """
            set -e
            \(Self.mounting)
            echo "correct horse" | "$0" user add alice --password-stdin
            exec "$0" serve
            """
        let process = try ChildProcess(
            "/usr/bin/unshare",
            ["--mount", "/bin/sh", "-c", script, Daemon.executable],
            in: self.folder.path,
            environment: [
                "SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_DATABASE": "disk/sealpost.db",
                "PATH": "/usr/bin:/bin",
            ]
        )
        let line = await process.errors(until: "serving")
        let port = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.output.1, "\(line)")
        let path = try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"first"}"#)
            .value(forHTTPHeaderField: "Location")
        // In the daemon's namespace, as the kernel shows it.
        let ballast = "/proc/\(process.id)/cwd/disk/ballast"
        #expect(FileManager.default.createFile(atPath: ballast, contents: nil))
        #expect(throws: (any Error).self) {
            try FileHandle(forWritingTo: URL(filePath: ballast)).write(contentsOf: Data(count: 5 << 20))
        }
        var refused: HTTPURLResponse?
        for _ in 0..<100 {
            let response = try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"more"}"#)
            if response.statusCode != 201 { refused = response }
        }
        #expect(refused?.statusCode == 507)
        #expect(refused?.value(forHTTPHeaderField: "Retry-After") == "30")
        #expect(try await self.send("GET", "/readyz", to: port).statusCode == 503)
        // What is there can be collected.
        #expect(try await self.send("GET", #require(path), to: port).statusCode == 200)
        try FileManager.default.removeItem(atPath: ballast)
        try await eventually { try await self.send("GET", "/readyz", to: port).statusCode == 200 }
        #expect(
            try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"last"}"#).statusCode == 201
        )
        process.signal(SIGTERM)
        let ended = await process.end()
        #expect(ended.code == 0)
        let log = ended.errors.split(separator: "\n")
        #expect(log.count { $0.contains("disk full") } == 1, "\(ended.errors)")
        #expect(log.count { $0.contains("disk has space again; writes are accepted") } == 1, "\(ended.errors)")
        #expect(!ended.errors.contains("request failed"))
    }

    /// To SQLite a used-up quota is any failed write, as of a disk that breaks.
    @Test(.timeLimit(.minutes(5))) func aUsedUpQuotaOfTheFileSystemIsAsAFullDisk() async throws {
        _ = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: self.folder,
            input: "correct horse\n"
        )
        let daemon = try await Daemon(in: self.folder)
        let port = "\(daemon.port)"
        try await daemon.withFault("pwrite64:error=EDQUOT", on: [self.folder.file("var/sealpost.db-wal")]) {
            let refused = try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"more"}"#)
            #expect(refused.statusCode == 507)
        }
        try await eventually { try await self.send("GET", "/readyz", to: port).statusCode == 200 }
        #expect(
            try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"last"}"#).statusCode == 201
        )
        #expect(await daemon.terminate() == 0)
    }

    /// It would fill the disk of the database, beside which it may well be written.
    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() })
    func aBackupThatHasNoRoomIsRefusedBeforeItFillsTheDisk() async throws {
        _ = try await Daemon.run(["migrate"], in: self.folder)
        let fill = "import sqlite3; f = sqlite3.connect('var/sealpost.db'); f.execute('create table filler (value)'); "
        let row = "f.execute('insert into filler values (zeroblob(6 << 20))'); f.commit()"
        let script = """
            set -e
            python3 -c "\(fill)\(row)"
            \(Self.mounting)
            head --bytes=2097152 /dev/zero > disk/ballast
            "$0" backup disk/copy.db || echo "exit code $?"
            ls disk
            """
        let ended = try await ChildProcess(
            "/usr/bin/unshare",
            ["--mount", "/bin/sh", "-c", script, Daemon.executable],
            in: self.folder.path,
            environment: ["PATH": "/usr/bin:/bin"]
        ).end()
        #expect(ended.output == "exit code 1\nballast\n", "\(ended.errors)")
        let reason = /disk\/copy\.db\.partial: the copy needs (6|7) MiB, and \S+\/disk has 2 MiB left; choose another/
        #expect(ended.errors.contains(reason), "\(ended.errors)")
    }

    private func send(_ method: String, _ path: String, to port: some StringProtocol, body: String = "") async throws
        -> HTTPURLResponse
    {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = method
        if !body.isEmpty { request.httpBody = Data(body.utf8) }
        let credentials = Data("alice:correct horse".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        let (_, response) = try await URLSession.shared.data(for: request)
        return try #require(response as? HTTPURLResponse)
    }
}
