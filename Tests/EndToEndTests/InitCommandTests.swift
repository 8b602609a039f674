import Foundation
import PushClient
import PushTesting
import Testing

/// The command `sealpost init`, which gets its answers from options or from a terminal.
@Suite(.timeLimit(.minutes(5))) struct InitCommandTests {
    private let folder: TemporaryFolder

    init() throws { self.folder = try TemporaryFolder() }

    // MARK: By options

    @Test func optionsSetUpAServerThatServesItsAdministrator() async throws {
        let made = try await self.initialize(
            ["--listen", "127.0.0.1:0", "--database", "db/push.db"] + Self.administrator
        )
        let path = self.folder.path
        #expect(made.code == 0, "\(made.errors)")
        #expect(
            made.output.hasPrefix(
                """
                the keys \(path)/db/keyring and \(path)/db/signing-keys are made
                boss is an administrator
                sealpost.yaml is written and can be used

                Next:
                - Back up the files of keys in \(path)/db,
                """
            ),
            "\(made.output)"
        )
        #expect(made.output.contains("- Start the server: sealpost serve --config sealpost.yaml\n"))
        #expect(try self.names == ["db", "sealpost.yaml"])
        for file in ["db/keyring", "db/signing-keys"] { #expect(try self.mode(of: file) == 0o600) }
        // All settings of the written file apply, in whatever folder an operator starts the
        // server.
        let elsewhere = try TemporaryFolder()
        let daemon = try await Daemon(
            in: elsewhere,
            arguments: ["--config", self.folder.file("sealpost.yaml")],
            settings: [:]
        )
        try await self.expectSignIn(at: daemon)
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere.path).isEmpty)
    }

    @Test func withoutAnAdministratorTheServerPrintsALinkForOne() async throws {
        let made = try await self.initialize(["--yes", "--listen", "127.0.0.1:0"])
        #expect(made.code == 0, "\(made.errors)")
        #expect(
            made.output.contains("- Then open the link that the server prints, and create the first administrator\n")
        )
        let daemon = try await Daemon(in: self.folder, arguments: ["--config", "sealpost.yaml"], settings: [:])
        #expect(await daemon.process.output(until: "\n").contains("/console/#/setup/"))
        #expect(await daemon.terminate() == 0)
    }

    /// Without a TCP address, the server does not know the address at which users reach it through
    /// a proxy.
    @Test func aServerWithoutAnAddressPrintsThePathOfTheLink() async throws {
        let process = try ChildProcess(
            Daemon.executable,
            ["serve"],
            in: self.folder.path,
            environment: ["SEALPOST_SERVER_LISTEN": "unix:http.sock"]
        )
        let line = await process.output(until: "\n")
        #expect(line.contains(/within an hour: \/console\/#\/setup\/\S+, at your proxy\n/), "\(line)")
        // The daemon handles SIGTERM only after it has logged the line `serving`.
        _ = await process.errors(until: "serving")
        process.signal(SIGTERM)
        #expect(await process.end().code == 0)
    }

    @Test func certificatesAreReadAndUsed() async throws {
        let files = try TLSFolder()
        try files.writeServer("push.example.com")
        let tls = ["--listen", "0.0.0.0:8443", "--certificate", "cert.pem", "--private-key", "key.pem"]
        let made = try await Daemon.run(["init"] + tls + Self.administrator, in: files.folder, input: Self.password)
        #expect(made.code == 0, "\(made.errors)")
        #expect(made.output.contains("- Then sign in as boss at https://127.0.0.1:8443/console/\n"), "\(made.output)")
        #expect(!made.output.contains("risky"))
        let checked = try await Daemon.run(["doctor", "--config", "sealpost.yaml"], in: files.folder)
        #expect(checked.output.contains("server.tls.certificate"), "\(checked.output)")
    }

    @Test func aRiskySettingIsReported() async throws {
        let made = try await self.initialize(["--listen", "0.0.0.0:8080"])
        #expect(made.code == 0)
        #expect(made.output.contains("risky: server.listen: 0.0.0.0:8080 accepts passwords"), "\(made.output)")
    }

    @Test(arguments: [
        (["--listen", "x:8080"], 64, "\"x:8080\" is not an address"),
        (["--database", "."], 64, "is a folder, and not a file"),
        (["--database", "postgres://"], 64, "the address of the database: "),
        (["--keys", "taken"], 64, "/taken is no folder"),
        (["--admin", "a:b", "--password-stdin"], 64, "\"a:b\" is not 1 to 100 characters"),
        (["--admin", "boss"], 64, "--admin needs --password-stdin if the command cannot ask (--yes, or no terminal)"),
        (["--password-stdin"], 64, "--password-stdin needs --admin"),
        (["--certificate", "taken"], 64, "--certificate and --private-key must be given together"),
        (["--certificate", "taken", "--private-key", "taken"], 64, "server.tls.certificate: "),
    ])
    func anInvalidOptionWritesNothing(arguments: [String], code: Int32, reason: String) async throws {
        try self.folder.writeSecret("", to: "taken")
        let ended = try await self.initialize(arguments)
        #expect(ended.code == code)
        #expect(ended.errors.contains(reason), "\(ended.errors)")
        #expect(try self.names == ["taken"])
    }

    @Test func aWeakPasswordWritesNothing() async throws {
        let ended = try await self.initialize(["--admin", "boss", "--password-stdin"], input: "password\n")
        #expect(ended.code == 64 && ended.errors.contains("this password is too common"), "\(ended.errors)")
        #expect(try self.names.isEmpty)
    }

    // MARK: Existing files

    @Test func anExistingConfigurationIsKept() async throws {
        try self.folder.writeSecret("log: {level: debug}\n", to: "sealpost.yaml")
        let ended = try await self.initialize(Self.administrator)
        #expect(ended.code == 1)
        #expect(ended.errors == "sealpost: sealpost.yaml exists already; edit it, or name another file with --config\n")
        #expect(try self.names == ["sealpost.yaml"])
        #expect(
            try String(contentsOfFile: self.folder.file("sealpost.yaml"), encoding: .utf8) == "log: {level: debug}\n"
        )
    }

    @Test func existingKeysAndDatabaseAreUsed() async throws {
        _ = try await Daemon.run(["user", "add", "boss", "--no-password"], in: self.folder)
        let keyring = try String(contentsOfFile: self.folder.file("var/keyring"), encoding: .utf8)
        let ended = try await self.initialize(Self.administrator)
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains("boss exists already and keeps its password and role\n"), "\(ended.output)")
        #expect(try String(contentsOfFile: self.folder.file("var/keyring"), encoding: .utf8) == keyring)
    }

    @Test func aDatabaseWithoutItsKeyringIsRefused() async throws {
        _ = try await Daemon.run(["user", "add", "alice", "--no-password"], in: self.folder)
        try FileManager.default.removeItem(atPath: self.folder.file("var/keyring"))
        let ended = try await self.initialize([])
        #expect(
            ended.code == 78 && ended.errors.contains("keyring is missing; restore it from a backup"),
            "\(ended.errors)"
        )
        #expect(try self.names == ["var"])
    }

    // MARK: Crashes

    /// The command creates each file by one system call, at which strace kills the command. strace
    /// finds the call by the file's name. A number cannot identify the call, because strace counts
    /// each thread's calls separately.
    @Test(arguments: ["var/keyring", "var/signing-keys", "sealpost.yaml"])
    func theSameCommandFinishesAfterACrash(file: String) async throws {
        let arguments = ["init", "--listen", "127.0.0.1:0"] + Self.administrator
        let killed = try await ChildProcess(
            "/usr/bin/strace",
            [
                "--follow-forks", "--output=/dev/null", "--trace=linkat", "--trace-path=\(file)",
                "--trace-path=\(self.folder.file(file))", "--inject=linkat:signal=KILL", Daemon.executable,
            ] + arguments,
            in: self.folder.path,
            input: Self.password
        ).end()
        #expect(killed.code == 128 + SIGKILL, "\(killed.errors)")
        // The kill came either at the beginning of the system call, so that the file is missing,
        // or after the call.
        if try !self.names.contains("sealpost.yaml") {
            let again = try await Daemon.run(arguments, in: self.folder, input: Self.password)
            #expect(again.code == 0, "\(again.errors)")
            let all = try FileManager.default.subpathsOfDirectory(atPath: self.folder.path)
            #expect(!all.contains { $0.hasSuffix(".init") }, "\(all)")
        } else {
            #expect(file == "sealpost.yaml")
        }
        let daemon = try await Daemon(in: self.folder, arguments: ["--config", "sealpost.yaml"], settings: [:])
        try await self.expectSignIn(at: daemon)
    }

    // MARK: On a terminal

    @Test func theCommandRepeatsAQuestionAfterAWrongAnswer() async throws {
        let shown = try await self.talk([
            ("1. Address to listen on [127.0.0.1:8080]: ", "localhost"), ("is not an address", "127.0.0.1:0"),
            ("2. Database, a file or postgres://… [\(self.folder.path)/var/sealpost.db]: ", "."),
            ("is a folder, and not a file", "db/push.db"), ("3. Folder of the keys [\(self.folder.path)/db]: ", ""),
            ("4. Certificate and private key, separated by a space [a proxy does TLS]: ", "cert.pem"),
            ("two file names are needed", "cert.pem key.pem"), ("cert.pem cannot be read", ""),
            ("5. Name of the first administrator [create it later]: ", "the boss"), ("is not 1 to 100", "boss"),
            ("Password of boss: ", "password"), ("Once more: ", "password"), ("this password is too common", nil),
            ("Password of boss: ", "correct horse"), ("Once more: ", "correct house"),
            ("the two passwords differ", nil),
            ("Password of boss: ", "correct horse"), ("Once more: ", "correct horse"),
            ("boss is an administrator", nil),
        ])
        #expect(shown.code == 0, "\(shown.output)\(shown.errors)")
        #expect(!shown.output.contains("correct"), "a password is not shown")
        #expect(try self.names == ["db", "sealpost.yaml"])
        let daemon = try await Daemon(in: self.folder, arguments: ["--config", "sealpost.yaml"], settings: [:])
        try await self.expectSignIn(at: daemon)
    }

    @Test func endOfInputWritesNothing() async throws {
        let shown = try await self.talk([("1. Address", ""), ("2. Database", "\u{4}")])
        #expect(shown.code == 1 && shown.output.contains("sealpost: no answer; nothing was written"), "\(shown.output)")
        #expect(try self.names.isEmpty)
    }

    @Test func questionsAnsweredByOptionsAreSkipped() async throws {
        let shown = try await self.talk(
            [
                ("3. Folder of the keys", "keys"), ("4. Certificate", ""), ("5. Name", ""),
                ("sealpost.yaml is written", nil),
            ],
            ["--listen", "127.0.0.1:0", "--database", "push.db"]
        )
        #expect(shown.code == 0 && !shown.output.contains("1. Address"), "\(shown.output)\(shown.errors)")
    }

    // MARK: - Private

    private static let administrator = ["--admin", "boss", "--password-stdin"]
    private static let password = "correct horse\n"

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: self.folder.path).sorted() }
    }

    private func mode(of file: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: self.folder.file(file))[.posixPermissions] as? Int
    }

    private func initialize(_ arguments: [String], input: String = Self.password) async throws -> ChildProcess.Ended {
        try await Daemon.run(["init"] + arguments, in: self.folder, input: input)
    }

    /// Checks that the administrator can sign in, by a request that only administrators may make.
    private func expectSignIn(at daemon: Daemon) async throws {
        let ended = try await ChildProcess(
            "/usr/bin/curl",
            ["--silent", "--fail", "--user", "boss:correct horse", "http://127.0.0.1:\(daemon.port)/api/users"],
            in: self.folder.path
        ).end()
        #expect(ended.code == 0 && ended.output.contains(#""Name":"boss","Role":"admin""#), "\(ended.output)")
        #expect(await daemon.terminate() == 0)
    }

    private func talk(_ steps: [(text: String, answer: String?)], _ arguments: [String] = []) async throws
        -> ChildProcess.Ended
    { try await Terminal.run(["init"] + arguments, in: self.folder, steps) }
}
