import Foundation
import PushAPI
import PushClient
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// Commands while a daemon runs. Each command asks the daemon to carry it out.
@Suite(.timeLimit(.minutes(5))) struct LocalCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    /// Runs a command that must succeed. Returns its output.
    private func run(
        _ arguments: String,
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let words = arguments.split(separator: " ").map(String.init)
        let ended = try await Daemon.run(words, in: self.folder, input: input)
        let isDone = ended.code == 0 && ended.errors.isEmpty
        #expect(isDone, "\(arguments): \(ended.errors)", sourceLocation: sourceLocation)
        return ended.output
    }

    private func mayFetch(_ password: String, from daemon: Daemon) async throws -> Bool {
        let client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: password),
            options: .init(testing: [])
        )
        // The test needs to know only whether the server accepts the password.
        return (try? await client.send("hello")) != nil
    }

    @Test func usersAreManagedWhileTheServerRuns() async throws {
        let daemon = try await Daemon(in: self.folder)
        #expect(
            try await self.run("user add alice --password-stdin", input: "correct horse\n")
                == "user alice created with the role device\n"
        )
        #expect(try await self.mayFetch("correct horse", from: daemon))
        #expect(try await self.run("user disable alice") == "alice is disabled\n")
        // The daemon had cached the right password. After the user is disabled, the cached
        // password must not count any more.
        #expect(try await !self.mayFetch("correct horse", from: daemon))
        #expect(try await self.run("user enable alice") == "alice is enabled\n")
        #expect(
            try await self.run("user passwd alice --password-stdin", input: "another horse\n").contains("new password")
        )
        #expect(try await !self.mayFetch("correct horse", from: daemon))
        #expect(try await self.mayFetch("another horse", from: daemon))
        #expect(try await self.run("user role alice publisher") == "alice is publisher\n")
        #expect(try await self.run("user list").hasPrefix("alice  publisher  since "))
        let again = try await Daemon.run(["user", "add", "ALICE", "--no-password"], in: self.folder)
        #expect(again.code == 1 && again.errors.hasPrefix("sealpost: user ALICE already exists\n"), "\(again.errors)")
        #expect(try await self.run("user remove alice") == "alice is deleted\n")
        #expect(try await self.run("user list") == "")
        let missing = try await Daemon.run(["user", "remove", "alice"], in: self.folder)
        #expect(missing.code == 1 && missing.errors.contains("does not exist; see sealpost user list"))
        #expect(await daemon.terminate() == 0)
    }

    @Test func tokensAndTheAuditAreManagedWhileTheServerRuns() async throws {
        let daemon = try await Daemon(in: self.folder)
        _ = try await self.run("user add alice --no-password")
        let token = try await self.run("token create alice --scope send").trimmingCharacters(in: .newlines)
        let client = PushClient(server: try daemon.server, credentials: .token(token), options: .init(testing: []))
        _ = try await client.send("hello")
        let prefix = token.prefix(12)
        #expect(try await self.run("token list --user alice").hasPrefix("\(prefix)  alice  token  send  until "))
        #expect(try await self.run("token revoke \(prefix)") == "token \(prefix) revoked\n")
        await #expect(throws: (any Error).self) { _ = try await client.send("hello") }
        let lines = try await self.run("audit list --limit 3").split(separator: "\n")
        #expect(lines.map { $0.split(separator: "\t")[2] } == ["token.revoke", "notification.send", "token.add"])
        #expect(lines.first?.contains("\tlocal \(LocalUser.name(of: geteuid()))\t") == true, "\(lines)")
        let made = try await self.run("audit list --action user --words alice")
        #expect(made.split(separator: "\n").map { $0.split(separator: "\t")[2] } == ["user.add"], "\(made)")
        #expect(try await self.run("audit list --action user --user alice --since 1h") == made)
        #expect(try await self.run("audit list --words nobody") == "")
        #expect(try await self.run("audit list --user nobody") == "")
        let refused = try await Daemon.run(["audit", "list", "--action", "users"], in: self.folder)
        #expect(refused.code == 64 && refused.errors.contains("action must be an action of the audit"), "\(refused)")
        #expect(try await self.run("audit verify") == "audit verified up to entry 4\n")
        #expect(await daemon.terminate() == 0)
    }

    /// The commands must do the same with a PostgreSQL database as with SQLite.
    @Test func theCommandsWorkWithAPostgreSQLServerToo() async throws {
        let settings = [
            "DATABASE": try PostgreSQLCluster.shared.newDatabaseText(), "SERVER_LISTEN": "127.0.0.1:0",
        ]
        let daemon = try await Daemon(in: self.folder, settings: settings)
        func run(_ arguments: String, input: String = "") async throws -> String {
            let ended = try await Daemon.run(
                arguments.split(separator: " ").map(String.init),
                in: self.folder,
                input: input,
                environment: ["SEALPOST_DATABASE": try #require(settings["DATABASE"])]
            )
            #expect(ended.code == 0 && ended.errors.isEmpty, "\(arguments): \(ended.errors)")
            return ended.output
        }
        #expect(
            try await run("user add alice --password-stdin", input: "correct horse\n")
                == "user alice created with the role device\n"
        )
        #expect(try await self.mayFetch("correct horse", from: daemon))
        #expect(try await run("user disable alice") == "alice is disabled\n")
        #expect(try await !self.mayFetch("correct horse", from: daemon))
        #expect(try await run("user enable alice") == "alice is enabled\n")
        #expect(try await run("user list").hasPrefix("alice  device  since "))
        let prefix = try await run("token create alice --scope send").prefix(12)
        #expect(try await run("token list --user alice").hasPrefix("\(prefix)  alice  token  send  until "))
        #expect(try await run("token revoke \(prefix)") == "token \(prefix) revoked\n")
        let lines = try await run("audit list --action user.change --words alice").split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains("\tlocal ") }, "\(lines)")
        #expect(try await run("audit verify").hasPrefix("audit verified up to entry "))
        #expect(try await run("keys list").contains("encrypts"))
        #expect(try await run("keys reload --json").contains(#""Seals":1"#))
        #expect(await daemon.terminate() == 0)
    }

    /// Tests the commands while a server runs, and while none runs.
    @Test func commandsCreateCodesAndSetTags() async throws {
        let daemon = try await Daemon(in: self.folder)
        _ = try await self.run("user add dora --no-password")
        let code = try await self.run("user code dora --scope fetch").trimmingCharacters(in: .newlines)
        let redeemed = try await ChildProcess(
            "/usr/bin/curl",
            ["--silent", "--data", #"{"Code": "\#(code)"}"#, "\(try daemon.server)/api/enrolment"],
            in: self.folder.path
        ).end()
        let isToken = redeemed.output.contains(#""Token":""#) && redeemed.output.contains(#"["fetch"]"#)
        #expect(isToken, "\(redeemed.output)")
        #expect(try await self.run("user tags dora") == "dora has no tags\n")
        #expect(try await self.run("user tags dora team:a role:nurse") == "dora has the tags role:nurse team:a\n")
        let entries = try await self.run("audit list --limit 3").split(separator: "\n")
        #expect(entries.map { $0.split(separator: "\t")[2] } == ["user.tags", "session.begin", "user.enrol"])
        #expect(await daemon.terminate() == 0)
        #expect(try await self.run("user tags dora") == "dora has the tags role:nurse team:a\n")
        #expect(try await self.run("user tags dora --none") == "dora has no tags\n")
        #expect(try await self.run("user code dora --expires-in 60").count == code.count + 1)
        let refused = try await Daemon.run(["user", "tags", "dora", "username:bob"], in: self.folder)
        #expect(refused.code == 64 && refused.errors.contains("username:bob"), "\(refused.errors)")
    }

    @Test func usersAreExportedAndImportedWhileTheServerRuns() async throws {
        let daemon = try await Daemon(in: self.folder)
        _ = try await self.run("user add alice --password-stdin", input: "correct horse\n")
        #expect(try await self.mayFetch("correct horse", from: daemon))
        let lines = try await self.run("user export - --with-hashes")
        #expect(lines.contains(#""Name":"alice""#) && lines.contains(#""PasswordHash":"$argon2id$"#))
        let file = #"{"Name":"alice","Disabled":true}"# + "\n\n" + #"{"Name":"bob","Tags":["role:nurse"]}"#
        #expect(
            try await self.run("user import -", input: file) == """
                line 1: alice changed: disabled
                line 3: bob added
                1 added, 1 changed, 0 unchanged, 0 refused

                """
        )
        #expect(try await !self.mayFetch("correct horse", from: daemon))
        #expect(await daemon.terminate() == 0)
        // Some editors put a byte-order mark before a text.
        #expect(try await self.run("user import -", input: "\u{FEFF}\(file)").hasSuffix("2 unchanged, 0 refused\n"))
    }

    @Test func exportsToOneNameAtATimeDoNotDisturbEachOther() async throws {
        let daemon = try await Daemon(in: self.folder)
        _ = try await self.run("user add alice --no-password")
        let ended = try await withThrowingTaskGroup(of: ChildProcess.Ended.self) { group in
            for _ in 0..<12 {
                group.addTask { [folder] in try await Daemon.run(["user", "export", "users"], in: folder) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for one in ended { #expect(one.code == 0 || one.errors.contains("the file exists"), "\(one)") }
        #expect(try String(contentsOfFile: self.folder.file("users"), encoding: .utf8).contains(#""Name":"alice""#))
        let files = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
        #expect(!files.contains { $0.hasSuffix(".partial") }, "\(files)")
        #expect(await daemon.terminate() == 0)
    }

    /// Tests the commands while a server runs, and while none runs.
    @Test func allDataOfAUserIsPrintedAndTheExportIsInTheAudit() async throws {
        let daemon = try await Daemon(in: self.folder)
        _ = try await self.run("user add alice --password-stdin", input: "correct horse\n")
        _ = try await self.run("user add bob --no-password")
        #expect(try await self.mayFetch("correct horse", from: daemon))
        let running = try await self.run("user data alice")
        #expect(running.contains(#""Payload":"hello""#) && !running.contains(#""bob""#))
        #expect(try await self.run("audit list --action user.export").contains("\tuser.export\talice\t"))
        #expect(await daemon.terminate() == 0)
        let stopped = try JSONValue(reading: Array(try await self.run("user data alice").utf8))
        #expect(stopped["User"]?.field("Name") == "alice")
    }

    @Test func theDeliveriesCommandPrintsAndAwaitsTheStateOfPushes() async throws {
        let daemon = try await Daemon(in: self.folder)
        _ = try await self.run("user add alice --password-stdin", input: "correct horse\n")
        let client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
        let first = try await client.send("to nobody").id
        #expect(try await self.run("deliveries \(first) --wait") == "notification \(first): no pushes\n")
        _ = try await client.register(platform: "stream", handle: "")
        let second = try await client.send("to a device that is away").id
        #expect(try await self.run("deliveries \(second)") == "notification \(second): 1 queued\n")
        let json = try JSONValue(reading: Array(await self.run("deliveries \(second) --json").utf8))
        #expect(json["Id"]?.integer == Int(second) && json["Counts"]?["queued"]?.integer == 1)
        #expect(json["SendAt"] == .null && json["FanningOut"] == .bool(false))
        let text = try Repository.text(of: "docs/operate/commands.md")
        let block = try #require(text.firstMatch(of: /<!-- run by LocalCommandTests -->\n```bash\nsealpost (.*)\n```/))
        let documented = block.output.1.replacing(" --config sealpost.yaml", with: "")
            .replacing(" 1234 ", with: " \(second) ")
        #expect(documented == "deliveries \(second) --wait")
        async let waited = self.run(String(documented))
        try await client.unregister()
        #expect(try await waited.hasPrefix("notification \(second): "))
        let missing = try await Daemon.run(["deliveries", "1"], in: self.folder)
        #expect(missing.code == 1 && missing.errors.contains("there is no notification 1; "), "\(missing.errors)")
        #expect(try await Daemon.run(["deliveries", "x"], in: self.folder).code == 64)
        #expect(await daemon.terminate() == 0)
        #expect(try await self.run("deliveries \(first)") == "notification \(first): no pushes\n")
        let alone = try await Daemon.run(["deliveries", "\(first)", "--wait"], in: self.folder)
        #expect(alone.code == 1 && alone.errors.contains("no server is running"), "\(alone.errors)")
    }

    @Test func theOperatorSendsAndAsksWhatBecameOfIt() async throws {
        let daemon = try await Daemon(in: self.folder)
        _ = try await self.run("user add alice --password-stdin", input: "correct horse\n")
        let client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
        #expect(try await self.run("why alice").hasPrefix("alice has no device: "))
        let registration = try await client.register(platform: "stream", handle: "")
        let sent = try await self.run("send alice -", input: "a text of two words\n")
        let id = try #require(sent.firstMatch(of: /^notification (\d+) has 1 recipient and 1 push\n$/)?.output.1)
        #expect(try await self.run("deliveries \(id) --recipients") == "alice\t\t\t\n")
        for subject in ["alice", registration, String(id)] {
            let why = try await self.run("why \(subject)")
            #expect(why.contains("waits until the device opens an event stream"), "\(why)")
        }
        let fetched = try await client.notification(#require(Int64(id)))
        #expect(fetched.value.payload == .string("a text of two words"))
        let later = try await self.run(
            "send --tag news --at 2999-01-01T00:00:00Z later",
            isRefused: "at most 30 days ahead"
        )
        #expect(later.isEmpty)
        _ = try await self.run("send nobody text", isRefused: "user nobody does not exist")
        _ = try await self.run("send alice", isRefused: "give a user and a text")
        _ = try await self.run("deliveries --since 1h 7", isRefused: "need --failed")
        let failed = try await Daemon.run(["deliveries", "--failed", "--since", "1h"], in: self.folder)
        #expect(failed.code == 0 && failed.output == "" && failed.errors == "no failed pushes\n", "\(failed)")
        _ = try await self.run("deliveries --failed --since 1w", isRefused: "since must be a time")
        _ = try await self.run("deliveries --failed --user nobody", isRefused: "there is no user nobody")
        let status = try await self.run("status")
        #expect(status.hasPrefix("server \(Version.current) is running since 20"), "\(status)")
        #expect(status.contains("\nlane stream: 1 pending, "), "\(status)")
        #expect(await daemon.terminate() == 0)
        #expect(
            try await self.run("status").hasPrefix(
                "no server is running here; the database has:\nqueue: 1 push pending"
            )
        )
        #expect(try await self.run("send alice --read-once text").hasSuffix("so a server sends it when it starts\n"))
        let unknown = "there is no user, no device and no stored notification nobody"
        #expect(try await self.run("why nobody", isRefused: unknown) == "")
        let number = "there is no user, no device and no stored notification 987654321"
        #expect(try await self.run("why 987654321", isRefused: number) == "")
    }

    /// Runs a command that must be refused with an error that contains `text`. Returns its output.
    private func run(_ arguments: String, isRefused text: String) async throws -> String {
        let ended = try await Daemon.run(arguments.split(separator: " ").map(String.init), in: self.folder)
        #expect(ended.code != 0 && ended.errors.contains(text), "\(arguments): \(ended.errors)")
        return ended.output
    }

    @Test func theStatusIsTellingInWords() throws {
        let lanes = #"""
            [{"Name":"apns","Pending":17,"OverdueSeconds":3,"OldestSeconds":625,"Accepted":4,"Failed":1,"Expired":0,"Cancelled":2,
            "HasSender":true,"Pause":{"Cause":"misconfigured","Reason":"InvalidProviderToken","Since":"A","Until":"2026-11-28T20:01:00Z"}},
            {"Name":"stream","Pending":2,"OverdueSeconds":0,"OldestSeconds":0,"Accepted":0,"Failed":0,"Expired":0,"Cancelled":0,
            "HasSender":false,"Pause":null}]
            """#
        let status = try JSONValue(
            reading: Array(
                #"""
                {"Version":"1.0","StartedAt":"2026-11-28T19:59:52Z","Now":"2026-11-28T20:00:20Z","Troubles":["the disk is full"],"Lanes":\#(lanes),"Scheduled":{"Count":1,"FirstDue":"D"},
                "Nodes":[{"Name":"a/1","State":"alive","IsThis":true,"Version":"1.0","HeardAt":"H"}],
                "Credentials":[{"Name":"senders.apns","ExpiresAt":"E"}],
                "History":{"Seconds":15,"End":"2026-11-28T20:00:15Z","Posted":[null,1,2],"Fetched":[null,3,0],"Accepted":[null,4,5],"Failed":[null,0,1],"Pending":[null,1,1]}}
                """#.utf8
            )
        )
        let lines = [
            "trouble: the disk is full",
            "queue: 19 pushes pending, 1 notification scheduled, the next for D",
            "from 2026-11-28T19:59:52Z to 2026-11-28T20:00:15Z: 3 notifications posted and 3 fetched here, 9 pushes accepted, 1 failed",
            "lane apns: 17 pending, the oldest for 625 s, overdue by 3 s, 4 accepted, 1 failed, 0 expired, 2 cancelled; "
                + "paused since A, misconfigured: InvalidProviderToken; the next attempt is at 2026-11-28T20:01:00Z",
            "lane stream: 2 pending, 0 accepted, 0 failed, 0 expired, 0 cancelled; it has no sender, so its pushes wait",
            "server a/1: alive, this one, 1.0, last heard at H",
            "senders.apns expires at E",
        ]
        let running = StatusReport(status, isRunning: true)
        #expect(running.lines == ["server 1.0 is running since 2026-11-28T19:59:52Z"] + lines)
        #expect(running.json["Running"] == .bool(true) && running.json["Version"] == .string("1.0"))
        // Without a server, the report omits two lines. A command is no server, so the line about
        // this server is missing. A command has no samples, so the line about the last hour is
        // missing.
        let resting = StatusReport(status, isRunning: false).lines
        let known = lines.filter { !$0.hasPrefix("from ") && !$0.hasPrefix("server a/1") }
        #expect(resting == ["no server is running here; the database has:"] + known)
    }

    /// The end of a pause, the number of overdue pushes, and the words about the next attempt.
    /// After the end of the pause, the next due push is the next attempt.
    @Test(arguments: [
        ("2026-11-28T20:00:21Z", 0, "is at 2026-11-28T20:00:21Z"), ("2026-11-28T20:00:20Z", 4, "is due now"),
        ("2026-11-28T19:00:00Z", 0, "comes with the next push that is due"), ("B", 4, "is at B"),
    ])
    func theNextAttemptOfALaneIsNeverInThePast(until: String, overdue: Int, words: String) throws {
        let json = #"""
            {"Now":"2026-11-28T20:00:20Z","Lanes":[{"Name":"fcm","Pending":1,"OverdueSeconds":\#(overdue),
            "Pause":{"Cause":"outage","Reason":"timeout","Since":"A","Until":"\#(until)"}}]}
            """#
        let lines = StatusReport(try JSONValue(reading: Array(json.utf8)), isRunning: true).lines
        #expect(lines.contains { $0.hasSuffix("; the next attempt \(words)") }, "\(lines)")
        #expect(lines.contains { $0.hasPrefix("last hour: nothing is counted yet") }, "\(lines)")
    }

    @Test(arguments: [
        (#"{"Id":7,"SendAt":null,"FanningOut":false,"Counts":{"queued":0,"accepted":2}}"#, true, "2 accepted"),
        (#"{"Id":7,"SendAt":null,"FanningOut":false,"Counts":{"sending":1,"failed":2}}"#, false, "1 sending, 2 failed"),
        (
            #"{"Id":7,"SendAt":null,"FanningOut":true,"Counts":{"accepted":2}}"#, false,
            "2 accepted, more devices are being looked up"
        ),
        (
            #"{"Id":7,"SendAt":"2027-01-15T08:00:00Z","FanningOut":false,"Counts":{"queued":0}}"#, false,
            "scheduled for 2027-01-15T08:00:00Z"
        ),
    ])
    func aFanOutIsDoneWhenAllItsPushesAreSettled(json: String, isOver: Bool, line: String) throws {
        let state = FanoutState(try JSONValue(reading: Array(json.utf8)))
        #expect(state.isOver == isOver)
        #expect(state.line == "notification 7: \(line)")
    }

    @Test func theDocumentedCommandsDoWhatTheySay() async throws {
        let daemon = try await Daemon(in: self.folder)
        let text = try Repository.text(of: "docs/operate/commands.md")
        let block = try #require(
            text.firstMatch(of: /## Commands beside the server\n(?s).*?```bash\n(.*?)```/)?.output.1
        )
        let ended = try await ChildProcess(
            "/bin/sh",
            [
                "-c",
                "set -e; sealpost() { \"$SEALPOST\" \"$@\"; }\n\(block.replacing(" --config sealpost.yaml", with: ""))",
            ],
            in: self.folder.path,
            environment: ["SEALPOST": Daemon.executable]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.hasPrefix("user alice created with the role device\nalice is disabled\n2\t"))
        #expect(await daemon.terminate() == 0)
    }

    /// A suspended daemon still holds the lock of the database. The command can therefore only
    /// report that the daemon does not answer.
    @Test func anUnresponsiveDaemonIsReported() async throws {
        let daemon = try await Daemon(in: self.folder)
        daemon.process.signal(SIGSTOP)
        let ended = try await Daemon.run(["user", "add", "alice", "--no-password"], in: self.folder)
        #expect(ended.code == 1)
        #expect(ended.output.isEmpty)
        let text = "the server at var/admin/sealpost.sock does not answer; nothing was changed."
        #expect(ended.errors.hasPrefix("sealpost: local admin socket: \(text) See its log, or restart it\n"))
        let doctor = try await Daemon.run(["doctor"], in: self.folder)
        #expect(doctor.code == 1 && doctor.output.contains("fail server: local admin socket: "), "\(doctor.output)")
        daemon.process.signal(SIGCONT)
        #expect(try await self.run("doctor").contains("ok   server: runs since "))
        #expect(try await self.run("user list") == "")
        #expect(await daemon.terminate() == 0)
    }

    @Test func aKilledDaemonDoesNotDelayCommands() async throws {
        let daemon = try await Daemon(in: self.folder)
        await daemon.kill()
        #expect(FileManager.default.fileExists(atPath: self.folder.file("var/admin/sealpost.sock")))
        #expect(try await self.run("user add alice --no-password") == "user alice created with the role device\n")
        let next = try await Daemon(in: self.folder)
        #expect(try await self.run("user list").hasPrefix("alice  "))
        #expect(await next.terminate() == 0)
    }

    /// The server, which runs as another user, could not open files that root's command creates,
    /// such as the database's log.
    @Test(.enabled(if: geteuid() == 0), arguments: ["var/sealpost.db", "var"])
    func rootCreatesNothingNextToAnotherUsersDatabase(place: String) async throws {
        _ = try await self.run("user add alice --no-password")
        try #require(chown(self.folder.file(place), 65_534, 65_534) == 0)
        if place == "var" { try FileManager.default.removeItem(atPath: self.folder.file("var/sealpost.db")) }
        let before = try FileManager.default.contentsOfDirectory(atPath: self.folder.file("var"))
        let ended = try await Daemon.run(["user", "list"], in: self.folder)
        #expect(ended.code == 78)
        #expect(ended.errors.hasPrefix("sealpost: the database var/sealpost.db belongs to the user "))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: self.folder.file("var")).sorted() == before.sorted()
        )
    }

    /// The server's user has replaced the lock file by a link to one of root's files. Opening the
    /// lock would empty that file.
    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [
            "restore copy.db --replace", "migrate", "move --to postgres://nobody@127.0.0.1:1/x", "user list",
            "keys rotate", "keys rotate --direct", "keys remove 1 --direct", "signing-keys rotate",
            "signing-keys remove 1", "init --yes --config new.yaml", "keys list", "backup new.db",
            "backup new.db --direct", "serve", "signing-keys list",
        ]
    )
    func rootFollowsNoLinkOfAnotherUser(command: String) async throws {
        _ = try await self.run("user add alice --no-password")
        _ = try await self.run("backup copy.db --direct")
        let (file, text) = (self.folder.file("roots"), Data("root's".utf8))
        try text.write(to: URL(fileURLWithPath: file))
        let lock = self.folder.file("var/sealpost.db.lock")
        try FileManager.default.removeItem(atPath: lock)
        try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: file)
        // The server's user gets the folder, but the database still belongs to root. A link to one
        // of root's own databases would look the same to the command.
        try #require(chown(self.folder.file("var"), 65_534, 65_534) == 0)
        let ended = try await Daemon.run(command.split(separator: " ").map(String.init), in: self.folder)
        #expect(ended.code == 78)
        #expect(ended.errors.contains("; run the command as nobody: runuser -u nobody -- …"), "\(ended.errors)")
        #expect(FileManager.default.contents(atPath: file) == text)
    }

    /// The keyring, or the database's new folder, is to be created in a folder that other users
    /// may write to.
    @Test(
        .enabled(if: geteuid() == 0),
        arguments: [
            ("user list", "SEALPOST_DATABASE"), ("user list", "SEALPOST_KEYS"), ("migrate", "SEALPOST_DATABASE"),
            ("keys rotate --direct", "SEALPOST_KEYS"), ("signing-keys rotate", "SEALPOST_KEYS"),
            ("serve", "SEALPOST_KEYS"),
        ],
        ["file", "missing/file", "link/file", "link/../file"]
    )
    func rootCreatesNothingWhereAnotherUserMayWrite(command: (words: String, variable: String), path: String)
        async throws
    {
        let open = self.folder.file("open")
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        try #require(chmod(open, 0o777) == 0)
        // Everybody who may write to the folder `open` can choose the target of a link in it.
        let own = self.folder.file("own")
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: "\(open)/link", withDestinationPath: own)
        let words = command.words.split(separator: " ").map(String.init)
        let environment = [command.variable: "open/\(path)"]
        let ended = try await Daemon.run(words, in: self.folder, environment: environment)
        #expect(ended.code == 78 && ended.errors.contains("other users may write to the folder"), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: open) == ["link"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: own) == [])
    }

    /// Root may read files that the server's user may not read. The doctor must therefore check
    /// them as the server's user.
    @Test(.enabled(if: geteuid() == 0)) func doctorRunByRootChecksAsTheOwner() async throws {
        _ = try await self.run("user add alice --no-password")
        try #require(chmod(self.folder.path, 0o755) == 0)
        let before = try await Daemon.run(["doctor"], in: self.folder)
        #expect(before.output.contains("ok   keyring: "), "\(before.output)")
        try #require(chown(self.folder.file("var"), 65_534, 65_534) == 0)
        let ended = try await Daemon.run(["doctor"], in: self.folder)
        #expect(ended.code == 1)
        #expect(ended.output.contains("fail keyring: "), "\(ended.output)")
        #expect(ended.output.contains("ermission denied"), "\(ended.output)")
    }

    /// systemd makes the folder in `/run` only when the service starts.
    @Test(.enabled(if: geteuid() == 0)) func aFolderThatTheServiceGetsAtItsStartIsAWarning() async throws {
        _ = try await self.run("user add alice --no-password")
        try #require(chmod(self.folder.path, 0o755) == 0)
        for file in ["var", "var/keyring", "var/sealpost.db"] {
            try #require(chown(self.folder.file(file), 65_534, 65_534) == 0)
        }
        func doctor(_ socket: String) async throws -> String {
            try await Daemon.run(["doctor"], in: self.folder, environment: ["SEALPOST_ADMIN_SOCKET": socket]).output
        }
        let text = "files: admin.socket: local admin socket: the folder /run cannot be written: Permission denied"
        let missing = try await doctor("/run/sealpost-missing/admin/s.sock")
        let hint = "a unit of systemd with RuntimeDirectory makes /run/sealpost-missing when the service starts"
        #expect(missing.contains("\nwarn \(text); \(hint)\n"), "\(missing)")
        let wrong = try await doctor("/run/s.sock")
        #expect(wrong.contains("\nfail \(text)\n"), "\(wrong)")
    }

    @Test func doctorNoticesThatTheSocketOfARunningServerWasRemoved() async throws {
        let daemon = try await Daemon(in: self.folder)
        try FileManager.default.removeItem(atPath: self.folder.file("var/admin/sealpost.sock"))
        let doctor = try await Daemon.run(["doctor"], in: self.folder)
        #expect(doctor.output.contains("\nfail server: a server runs, but nothing listens at "), "\(doctor.output)")
        _ = await daemon.terminated()
        let stopped = try await Daemon.run(["doctor"], in: self.folder)
        #expect(!stopped.output.contains("server: "), "\(stopped.output)")
    }

    @Test func ctrlCEndsThePromptForAPassword() async throws {
        _ = try await self.run("user add alice --no-password")
        let steps = [(text: "Password: ", answer: "\u{3}")] as [(String, String?)]
        let shown = try await Terminal.run(["user", "passwd", "alice"], in: self.folder, steps)
        #expect(shown.code == 128 + SIGINT && !shown.output.contains("sealpost:"), "\(shown.output)\(shown.errors)")
    }

    @Test(arguments: [("passwd nobody", "does not exist"), ("add ALICE", "user ALICE already exists")])
    func aWrongNameIsReportedBeforeThePasswordIsTyped(command: String, text: String) async throws {
        _ = try await self.run("user add alice --no-password")
        let words = ["user"] + command.split(separator: " ").map(String.init)
        let shown = try await Terminal.run(words, in: self.folder, [(text, nil)])
        #expect(shown.code == 1 && !shown.output.contains("Password:"), "\(shown.output)\(shown.errors)")
    }

    /// SQLite would wait until another process writes to the FIFO.
    @Test(arguments: ["doctor", "keys list", "backup new.db --direct", "restore fifo --replace --without-hash"])
    func aFIFOIsRefused(command: String) async throws {
        _ = try await self.run("user add alice --no-password")
        for path in ["fifo", "var/sealpost.db"] {
            unlink(self.folder.file(path))
            try #require(mkfifo(self.folder.file(path), 0o600) == 0)
        }
        let ended = try await Daemon.run(command.split(separator: " ").map(String.init), in: self.folder)
        #expect(ended.code == (command == "doctor" ? 1 : 78))
        #expect((ended.output + ended.errors).contains("not a regular file"), "\(ended.output)\(ended.errors)")
    }

    @Test(.enabled(if: geteuid() == 0)) func rootExportsNothingWhereAnotherUserMayWrite() async throws {
        _ = try await self.run("user add alice --no-password")
        let open = self.folder.file("open")
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        try #require(chown(open, 65_534, 65_534) == 0)
        let ended = try await Daemon.run(["user", "export", "open/users"], in: self.folder)
        #expect(ended.code == 1 && ended.errors.contains("run the command as"), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
    }

    @Test(.enabled(if: geteuid() == 0)) func rootWritesNoBackupWhereAnotherUserMayWrite() async throws {
        _ = try await self.run("user add alice --no-password")
        let open = self.folder.file("open")
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        try #require(chmod(open, 0o777) == 0)
        let ended = try await Daemon.run(["backup", "open/copy.db", "--direct"], in: self.folder)
        #expect(ended.code == 1 && ended.errors.contains("other users may write to the folder"), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: open) == [])
    }

    /// If the configuration disables the socket, commands cannot use the database while the daemon
    /// runs.
    @Test func nullDisablesTheAdminSocket() async throws {
        let variables = ["SERVER_LISTEN": "127.0.0.1:0", "ADMIN_SOCKET": "null"]
        let daemon = try await Daemon(in: self.folder, settings: variables)
        #expect(!FileManager.default.fileExists(atPath: self.folder.file("var/admin")))
        let ended = try await Daemon.run(
            ["user", "list"],
            in: self.folder,
            environment: ["SEALPOST_ADMIN_SOCKET": "null"]
        )
        #expect(ended.code == 1)
        #expect(ended.errors.contains("in use by another process"))
        #expect(await daemon.terminate() == 0)
    }

    /// A socket that the configuration names must be usable. If the configuration names no socket,
    /// the server starts even if the default socket is unusable.
    @Test func anOpenSocketFolderStopsTheStartOnlyIfConfigured() async throws {
        let folder = self.folder.file("open")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder)
        let named = try await Daemon.run(
            ["serve"],
            in: self.folder,
            environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_ADMIN_SOCKET": "open/admin.sock"]
        )
        #expect(named.code == 78)
        #expect(
            named.errors.contains("SEALPOST_ADMIN_SOCKET: local admin socket: the folder open can be"),
            "\(named.errors)"
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["open"])
        let usual = self.folder.file("var/admin")
        try FileManager.default.createDirectory(atPath: usual, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: usual)
        let daemon = try await Daemon(in: self.folder)
        #expect(await daemon.terminate() == 0)
    }
}
