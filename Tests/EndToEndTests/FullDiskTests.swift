import Foundation
import PushTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A daemon on a file system that is really full. The file system is in memory, in the daemon's
/// own mount namespace.
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

    /// Runs a script in a mount namespace of its own. In the script, `$0` is the daemon.
    private func run(_ script: String, _ environment: [String: String] = [:]) throws -> ChildProcess {
        try ChildProcess(
            "/usr/bin/unshare",
            ["--mount", "/bin/sh", "-c", script, Daemon.executable],
            in: self.folder.path,
            environment: environment.merging(["PATH": "/usr/bin:/bin"]) { own, _ in own }
        )
    }

    /// Starts a server whose database is on its own small file system. Returns the process and its
    /// port.
    private func start() async throws -> (process: ChildProcess, port: String) {
        let script = """
            set -e
            \(Self.mounting)
            echo "correct horse" | "$0" user add alice --password-stdin
            exec "$0" serve
            """
        let process = try self.run(
            script,
            ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_DATABASE": "disk/sealpost.db"]
        )
        let line = await process.errors(until: "serving")
        let port = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/)?.output.1, "\(line)")
        return (process, String(port))
    }

    /// Fills the server's file system.
    private func fill(_ ballast: String) {
        #expect(FileManager.default.createFile(atPath: ballast, contents: nil))
        #expect(throws: (any Error).self) {
            try FileHandle(forWritingTo: URL(filePath: ballast)).write(contentsOf: Data(count: 5 << 20))
        }
    }

    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() }, .timeLimit(.minutes(5)))
    func aFullDiskRefusesPostsUntilSpaceIsFree() async throws {
        let (process, port) = try await self.start()
        let path = try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"first"}"#)
            .value(forHTTPHeaderField: "Location")
        // At this path, the kernel shows the file system of the daemon's namespace.
        let ballast = "/proc/\(process.id)/cwd/disk/ballast"
        self.fill(ballast)
        var refused: HTTPURLResponse?
        for _ in 0..<100 {
            let response = try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"more"}"#)
            if response.statusCode != 201 { refused = response }
        }
        #expect(refused?.statusCode == 507)
        #expect(refused?.value(forHTTPHeaderField: "Retry-After") == "30")
        #expect(try await self.send("GET", "/readyz", to: port).statusCode == 503)
        // Clients can still fetch stored notifications.
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

    /// Another program fills the file system and frees it, three times.
    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() }, .timeLimit(.minutes(5)))
    func exactlyTheAcknowledgedNotificationsAreStoredUnderLoad() async throws {
        let (process, port) = try await self.start()
        let ballast = "/proc/\(process.id)/cwd/disk/ballast"
        var paths: [String?] = []
        for _ in 0..<3 {
            self.fill(ballast)
            paths += try await self.post(60, to: port)
            // The disk gets free space again while clients post.
            async let more = self.post(60, to: port)
            try FileManager.default.removeItem(atPath: ballast)
            paths += try await more
            try await eventually { try await self.send("GET", "/readyz", to: port).statusCode == 200 }
        }
        #expect(paths.contains(nil), "the disk was full")
        let acknowledged = paths.compactMap { $0?.split(separator: "/").last.flatMap { Int($0) } }
        let (list, _) = try await URLSession.shared.data(
            for: self.request("GET", "/api/notifications?limit=500", to: port)
        )
        let object = try JSONSerialization.jsonObject(with: list) as? [String: Any]
        let stored = (object?["Notifications"] as? [[String: Any]])?.compactMap { $0["Id"] as? Int }
        #expect(stored?.sorted() == acknowledged.sorted())
        let file = self.folder.file("disk/sealpost.db")
        let query = "sqlite3.connect('\(file)').execute('pragma integrity_check').fetchone()[0]"
        let looked = try await ChildProcess(
            "/usr/bin/nsenter",
            ["--mount", "--target", "\(process.id)", "python3", "-c", "import sqlite3; print(\(query))"],
            in: "/",
            environment: ["PATH": "/usr/bin:/bin"]
        ).end()
        #expect(looked.output == "ok\n", "\(looked.errors)")
        process.signal(SIGTERM)
        #expect(await process.end().code == 0)
    }

    /// Posts `count` times, four at a time. Returns the path of each notification; a path is `nil`
    /// if the disk was full.
    private func post(_ count: Int, to port: String) async throws -> [String?] {
        try await withThrowingTaskGroup(of: [String?].self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var paths: [String?] = []
                    for _ in 0..<count / 4 {
                        let body = #"{"Payload":"more"}"#
                        let answer = try await self.send("POST", "/api/notifications", to: port, body: body)
                        #expect([201, 507].contains(answer.statusCode))
                        paths.append(answer.value(forHTTPHeaderField: "Location"))
                    }
                    return paths
                }
            }
            var paths: [String?] = []
            for try await more in group { paths += more }
            return paths
        }
    }

    /// SQLite reports an exhausted quota like any failed write, so the server itself must
    /// distinguish it from a failing disk.
    @Test(.timeLimit(.minutes(5))) func anExhaustedFileSystemQuotaIsTreatedAsAFullDisk() async throws {
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

    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() })
    func anExportThatDoesNotFitLeavesNoFile() async throws {
        _ = try await Daemon.run(["user", "add", "alice", "--no-password"], in: self.folder)
        let script = """
            set -e
            \(Self.mounting)
            head --bytes=5242880 /dev/zero > disk/ballast || true
            "$0" user export disk/users || echo "exit code $?"
            ls disk
            """
        let ended = try await self.run(script).end()
        #expect(ended.output == "exit code 1\nballast\n", "\(ended.errors)")
        #expect(ended.errors.contains("disk/users cannot be written: No space left on device"), "\(ended.errors)")
    }

    /// The exit code 78 would say that the configuration is wrong, and that a restart cannot help.
    @Test(
        .enabled("it takes the right to mount") { try await isAllowedToMount() },
        arguments: [
            ("serve", "", "the keyring disk/keyring cannot be written: No space left on device"),
            (
                "init --yes --config disk/sealpost.yaml", "",
                "the configuration disk/sealpost.yaml cannot be written: No space left on device"
            ),
            (
                "keys rotate", #""$0" user add alice --no-password"#,
                "the keyring disk/keyring.new cannot be written: No space left on device"
            ),
            (
                "restore copy.db --replace", #""$0" user add alice --no-password; "$0" backup copy.db"#,
                "/disk has 0 MiB left; free some space there"
            ),
        ]
    )
    func aFullDiskIsNoFaultOfTheConfiguration(command: String, preparation: String, reason: String) async throws {
        let script = """
            set -e
            \(Self.mounting)
            \(preparation)
            head --bytes=5242880 /dev/zero > disk/ballast || true
            "$0" \(command) || echo "exit code $?"
            """
        let ended = try await self.run(
            script,
            ["SEALPOST_DATABASE": "disk/sealpost.db", "SEALPOST_KEYS": "disk", "SEALPOST_SERVER_LISTEN": "127.0.0.1:0"]
        ).end()
        #expect(ended.output.hasSuffix("exit code 1\n"), "\(ended)")
        #expect(ended.errors.contains(reason), "\(ended.errors)")
    }

    /// Each start on the full disk gives the exit code of a fault that may pass.
    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() })
    func aFirstStartOnAFullDiskSucceedsOnceSpaceIsFree() async throws {
        let script = """
            set -e
            \(Self.mounting)
            head --bytes=5242880 /dev/zero > disk/ballast || true
            for start in 1 2; do "$0" serve || echo "exit code $?"; done
            ls disk/sealpost.db* var
            rm disk/ballast
            "$0" user add alice --no-password
            "$0" user list
            """
        let ended = try await self.run(
            script,
            ["SEALPOST_DATABASE": "disk/sealpost.db", "SEALPOST_SERVER_LISTEN": "127.0.0.1:0"]
        ).end()
        let start = "exit code 1\nexit code 1\ndisk/sealpost.db.lock\n\nvar:\nkeyring\nsigning-keys\n"
        #expect(ended.code == 0 && ended.output.hasPrefix(start), "\(ended)")
        #expect(ended.errors.contains("sealpost: cannot open disk/sealpost.db: the disk is full\n"), "\(ended.errors)")
    }

    /// A file system becomes read-only after an error of the disk.
    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() })
    func aReadOnlyFileSystemIsReportedByDoctor() async throws {
        let script = """
            set -e
            \(Self.mounting)
            "$0" user add alice --no-password
            mount -o remount,ro "$PWD/disk"
            "$0" doctor
            """
        let ended = try await self.run(script, ["SEALPOST_DATABASE": "disk/sealpost.db"]).end()
        let reason = /\nfail disk: the folder \S+\/disk cannot be written: Read-only file system\n/
        #expect(ended.code == 1 && ended.output.contains(reason), "\(ended)")
    }

    /// A shell of SQLite, or a tool that copies the file, may lock the database for long.
    @Test func aDatabaseThatAnotherProgramHasLockedRefusesPostsForTheMoment() async throws {
        _ = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: self.folder,
            input: "correct horse\n"
        )
        let daemon = try await Daemon(in: self.folder)
        let port = "\(daemon.port)"
        let script = """
            import signal, sqlite3, sys
            shell = sqlite3.connect("var/sealpost.db", isolation_level=None)
            shell.execute("begin exclusive")
            print("locked", file=sys.stderr, flush=True)
            signal.pause()
            """
        let shell = try ChildProcess("/usr/bin/python3", ["-c", script], in: self.folder.path)
        _ = await shell.errors(until: "locked")
        let refused = try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"more"}"#)
        #expect(refused.statusCode == 503 && refused.value(forHTTPHeaderField: "Retry-After") == "1")
        #expect(try await self.send("GET", "/api/notifications", to: port).statusCode == 200)
        #expect(try await self.send("GET", "/readyz", to: port).statusCode == 503)
        let users = try await Daemon.run(["user", "import", "-"], in: self.folder, input: #"{"Name":"bob"}"#)
        #expect(users.code == 1 && users.errors.contains("has locked the file; end that program"), "\(users)")
        shell.signal(SIGKILL)
        _ = await shell.end()
        try await eventually { try await self.send("GET", "/readyz", to: port).statusCode == 200 }
        let last = try await self.send("POST", "/api/notifications", to: port, body: #"{"Payload":"last"}"#)
        #expect(last.statusCode == 201)
        let ended = await daemon.terminated()
        #expect(ended.code == 0 && ended.errors.contains("another program, such as a shell of SQLite, has locked"))
    }

    /// SQLite notices a damaged page only when it reads the page, perhaps long after the start.
    @Test func aServerWithADamagedFileIsNotReadyAndSaysWhatToDo() async throws {
        _ = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: self.folder,
            input: "correct horse\n"
        )
        let script = """
            import sqlite3
            pages = "select rootpage from sqlite_schema where tbl_name in ('recipient', 'audit') and rootpage > 0"
            pages = sqlite3.connect("var/sealpost.db").execute(pages).fetchall()
            with open("var/sealpost.db", "r+b") as file:
                for page, in pages:
                    file.seek((page - 1) * 4096)
                    file.write(b"x" * 4096)
            """
        let damaged = try await ChildProcess("/usr/bin/python3", ["-c", script], in: self.folder.path).end()
        #expect(damaged.code == 0, "\(damaged.errors)")
        let daemon = try await Daemon(in: self.folder)
        let port = "\(daemon.port)"
        for method in ["GET", "POST", "GET"] {
            let body = method == "GET" ? "" : #"{"Payload":"more"}"#
            let refused = try await self.send(method, "/api/notifications", to: port, body: body)
            #expect(refused.statusCode == 503 && refused.value(forHTTPHeaderField: "Retry-After") == "30", "\(method)")
        }
        #expect(try await self.send("GET", "/readyz", to: port).statusCode == 503)
        let reason = "the database's file is damaged: database disk image is malformed; stop the server and restore"
        // The second command fails after the head of its answer.
        for words in ["send alice text", "audit verify"] {
            let command = try await Daemon.run(words.split(separator: " ").map(String.init), in: self.folder)
            #expect(command.code == 78 && command.errors.contains(reason), "\(command)")
        }
        let doctor = try await Daemon.run(["doctor"], in: self.folder)
        let finding = /\nfail database: \S+ is damaged: .*[Pp]age \d+: [^\\\n]+; restore an intact backup\n/
        #expect(doctor.code == 1 && doctor.output.contains(finding), "\(doctor)")
        let ended = await daemon.terminated()
        #expect(ended.code == 0 && !ended.errors.contains("request failed"), "\(ended)")
        // The daemon may notice the damage before it serves.
        let log = daemon.start + ended.errors
        #expect(log.split(separator: "\n").count { $0.contains("database file damaged") } == 1, "\(log)")
    }

    /// A backup often goes to the disk of the database. If it filled this disk, the server could
    /// store nothing.
    @Test(.enabled("it takes the right to mount") { try await isAllowedToMount() })
    func aBackupLargerThanTheFreeSpaceIsRefused() async throws {
        _ = try await Daemon.run(["user", "add", "alice", "--no-password"], in: self.folder)
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
        let ended = try await self.run(script).end()
        #expect(ended.output == "exit code 1\nballast\n", "\(ended.errors)")
        let reason = /disk\/copy\.db\.partial: the copy needs (6|7) MiB, and \S+\/disk has 2 MiB left; choose another/
        #expect(ended.errors.contains(reason), "\(ended.errors)")
    }

    private func send(_ method: String, _ path: String, to port: String, body: String = "") async throws
        -> HTTPURLResponse
    {
        let (_, response) = try await URLSession.shared.data(for: self.request(method, path, to: port, body: body))
        return try #require(response as? HTTPURLResponse)
    }

    private func request(_ method: String, _ path: String, to port: String, body: String = "") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        request.httpMethod = method
        if !body.isEmpty { request.httpBody = Data(body.utf8) }
        let credentials = Data("alice:correct horse".utf8).base64EncodedString()
        request.setValue("Basic \(credentials)", forHTTPHeaderField: "Authorization")
        return request
    }
}
