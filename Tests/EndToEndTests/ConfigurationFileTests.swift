import Foundation
import PushAPI
import PushTesting
import Reactor
import Testing

@testable import PushApplication
@testable import sealpost

/// Which configuration and which database a command uses, and which files it creates.
@Suite(.timeLimit(.minutes(5))) struct ConfigurationFileTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func run(_ command: String, environment: [String: String] = [:]) async throws -> ChildProcess.Ended {
        let words = command.split(separator: " ").map(String.init)
        return try await Daemon.run(words, in: self.folder, environment: environment)
    }

    @Test(arguments: [
        ("a", "b", ConfigurationFile.usual, "a"), (nil, "b", ConfigurationFile.usual, "b"),
        (nil, nil, ConfigurationFile.usual, "./sealpost.yaml"),
        (nil, nil, ["/etc/sealpost/sealpost.yaml"], "/etc/sealpost/sealpost.yaml"), (nil, nil, [], nil),
    ])
    func theFirstFileThatIsNamedOrThereIsUsed(option: String?, variable: String?, there: [String], path: String?) {
        let environment = variable.map { ["SEALPOST_CONFIG": $0] } ?? [:]
        let file = ConfigurationFile(option: option, environment: environment, isThere: there.contains)
        #expect(file.path == path)
        #expect("\(file)".contains(path ?? "built-in settings, as there is no ./sealpost.yaml"))
    }

    @Test func aConfigurationOfVariablesIsNamed() {
        func name(_ environment: [String: String]) -> String {
            "\(ConfigurationFile(option: nil, environment: environment) { _ in false })"
        }
        #expect(name(["SEALPOST_LOG_LEVEL": "info"]).hasPrefix("environment variables, as there is no ./sealpost.yaml"))
        #expect(name(["SEALPOST_TOKEN": "spt_x", "SEALPOST_PORT": "tcp://10.0.0.1:1"]).hasPrefix("built-in settings"))
    }

    /// The message names the environment variable even for errors that appear only after the
    /// configuration was read. The code that reports these errors knows only the key.
    @Test(arguments: [
        (["SERVER_LISTEN": ""], "SEALPOST_SERVER_LISTEN: needs at least one address"),
        (["KEYS": ""], "SEALPOST_KEYS: must not be empty"), (["DATABASE": ""], "SEALPOST_DATABASE: must not be"),
        (["LOG_FILE": "/none/log"], "SEALPOST_LOG_FILE: /none/log cannot be opened"),
        (
            ["SENDERS_FCM_TYPE": "fcm", "SENDERS_FCM_SERVICEACCOUNT": "none.json"],
            "SEALPOST_SENDERS_FCM_SERVICEACCOUNT: "
        ),
    ])
    func aBadVariableStopsTheStartAndIsNamed(variables: [String: String], message: String) async throws {
        let names = variables.map { ("SEALPOST_\($0)", $1) }
        let environment = ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"].merging(names) { $1 }
        let ended = try await self.run("serve", environment: environment)
        #expect(ended.code == 78, "\(ended.errors)")
        #expect(ended.errors.contains("sealpost: \(message)"), "\(ended.errors)")
        #expect(ended.errors.contains("sealpost: configuration: environment variables, as"), "\(ended.errors)")
    }

    /// Before it creates anything, the server reads the configuration, and then the files that
    /// these configuration keys name.
    @Test(arguments: [
        ("senders:\n  fcm:\n    serviceAccount: none.json", 3, "senders.fcm.serviceAccount"),
        (
            "senders:\n  webpush: {subject: 'mailto:a@sealpost.net'}\n  wns:\n    clientID: a\n    clientSecretFile: none",
            5, "senders.wns.clientSecretFile"
        ),
        ("server:\n  tls:\n    certificate: none\n    privateKey: none", 3, "server.tls.certificate"),
        ("events:\n  webhook:\n    url: https://a.example\n    secretFile: none", 4, "events.webhook.secretFile"),
        ("senders:\n  webpush:\n    subject: me", 3, "senders.webpush.subject"),
        ("senders:\n  webpush:\n    subject: mailto:a@sealpost.net\n    caFile: none", 4, "senders.webpush.caFile"),
        ("tracing:\n  endpoint: http://a\n  caFile: none", 3, "tracing.caFile"),
        ("tracing:\n  endpoint: http://a\n  caFile: sealpost.yaml", 3, "tracing.caFile"),
        ("log: {level: info}\ndatabase: sealpost.yaml/push.db", 2, "database"),
        ("log: {level: info}\nkeys: sealpost.yaml/keys", 2, "keys"),
        (
            "senders:\n  webpush:\n    subject: mailto:a@b.example\n    keyFile: sealpost.yaml/vapid", 4,
            "senders.webpush.keyFile"
        ),
        ("admin:\n  socket: sealpost.yaml/socket", 2, "admin.socket"),
        ("signIn:\n  oidc:\n    issuer: https://a.example\n    audience: a\n    caFile: none", 5, "signIn.oidc.caFile"),
        ("log: {level: info}\nkeys: sealpost.yaml", 2, "keys"),
    ])
    func aFirstStartWithAnUnusableSettingNamesItsLineAndMakesNothing(yaml: String, line: Int, key: String) async throws
    {
        try yaml.write(toFile: self.folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        let ended = try await self.run("serve", environment: ["SEALPOST_LOG_LEVEL": "info"])
        #expect(ended.code == 78, "\(ended.errors)")
        #expect(ended.errors.contains("sealpost: ./sealpost.yaml:\(line): \(key): "), "\(ended.errors)")
        let doctor = try await self.run("doctor")
        #expect(doctor.code == 1 && "\n\(doctor.output)".contains("\nfail "), "\(doctor.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["sealpost.yaml"])
    }

    @Test func aFirstStartWithAnAddressInUseNamesItsLineAndMakesNothing() async throws {
        let other = try Listener(.tcp(host: "127.0.0.1", port: 0))
        let yaml = "server:\n  listen: ['127.0.0.1:0', '\(other.address)']"
        try yaml.write(toFile: self.folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        let ended = try await self.run("serve")
        #expect(ended.code == 1, "\(ended.errors)")
        let text = "server.listen: bind to \(other.address): Address already in use; stop"
        #expect(ended.errors.contains("sealpost: ./sealpost.yaml:2: \(text)"), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["sealpost.yaml"])
    }

    @Test(arguments: ["none/s.sock", "sealpost.yaml/s.sock"])
    func aSocketWithoutItsFolderIsReportedWithARemedy(path: String) async throws {
        try "server: {listen: 'unix:\(path)'}".write(
            toFile: self.folder.file("sealpost.yaml"),
            atomically: true,
            encoding: .utf8
        )
        let ended = try await self.run("serve")
        #expect(ended.code == 1, "\(ended.errors)")
        #expect(ended.errors.contains("sealpost: ./sealpost.yaml:1: server.listen: bind to unix:\(path): "))
        #expect(ended.errors.contains("; make the socket's folder, or correct its path\n"), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == ["sealpost.yaml"])
    }

    @Test func aFirstStartWithBadSigningKeysMakesNothing() async throws {
        try FileManager.default.createDirectory(atPath: self.folder.file("var"), withIntermediateDirectories: true)
        try self.folder.writeSecret("1 short\n", to: "var/signing-keys")
        let ended = try await self.run("serve", environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"])
        #expect(ended.code == 78 && ended.errors.contains("var/signing-keys is not valid"), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.file("var")) == ["signing-keys"])
    }

    /// The missing target of the link may be on a volume that is not mounted. The server must
    /// therefore not make new keys in place of the link.
    @Test(arguments: [
        ("var/keyring", "keys"), ("var/signing-keys", "keys"), ("var/vapid.pem", "senders.webpush.keyFile"),
    ])
    func aDanglingLinkInPlaceOfKeysIsReportedAndNothingIsMade(path: String, key: String) async throws {
        let link = self.folder.file(path)
        try FileManager.default.createDirectory(atPath: self.folder.file("var"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/nowhere/file")
        let environment = [
            "SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_SENDERS_WEBPUSH_SUBJECT": "mailto:a@sealpost.net",
        ]
        let text = "\(key): \(path) is a link to a missing file; restore that file, or remove the link\n"
        let served = try await self.run("serve", environment: environment)
        #expect(served.code == 78 && served.errors.contains(text), "\(served.errors)")
        let doctor = try await self.run("doctor", environment: environment)
        #expect(doctor.output.contains("\nfail files: \(text)"), "\(doctor.output)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.file("var")).count == 1)
    }

    @Test func aFolderInPlaceOfAFileIsReported() async throws {
        try FileManager.default.createDirectory(atPath: self.folder.file("x"), withIntermediateDirectories: true)
        let configuration = try await self.run("user list --config x")
        let text = "sealpost: x: cannot be read: it is a folder; name a file"
        #expect(configuration.errors.hasPrefix(text), "\(configuration.errors)")
        let database = try await self.run("serve", environment: ["SEALPOST_DATABASE": "x"])
        #expect(database.code == 78, "\(database.errors)")
        #expect(database.errors.contains("SEALPOST_DATABASE: x is not a regular file; name"), "\(database.errors)")
    }

    /// A reload reads the configuration again, and a pipe cannot be read twice.
    @Test(arguments: ["serve", "user list", "doctor"])
    func aPipeInPlaceOfTheConfigurationIsRefused(command: String) async throws {
        try #require(mkfifo(self.folder.file("fifo"), 0o600) == 0)
        let ended = try await self.run("\(command) --config fifo")
        let text = "fifo: cannot be read: it is a pipe or a device; name a regular file"
        #expect(ended.code != 0 && (ended.output + ended.errors).contains(text), "\(ended)")
    }

    @Test func aCommandFindsItsConfigurationAndNamesItWhenItFails() async throws {
        try "database: own/push.db".write(toFile: self.folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        #expect(try await self.run("user add alice --no-password").code == 0)
        #expect(FileManager.default.fileExists(atPath: self.folder.file("own/push.db")))
        let failed = try await self.run("user remove bob")
        #expect(failed.code == 1 && failed.errors.hasSuffix("sealpost: configuration: ./sealpost.yaml\n"))
        let typed = try await self.run("user remove bob --config sealpost.yaml")
        #expect(typed.code == 1 && typed.errors == "sealpost: user bob does not exist; see sealpost user list\n")
        let wrong = try await self.run("audit list --action x")
        #expect(wrong.code == 64 && !wrong.errors.contains("sealpost.yaml"), "\(wrong.errors)")
        let json = try await self.run("user remove bob --json")
        #expect(try JSONValue(reading: Array(json.errors.utf8)).field("configuration") == "./sealpost.yaml")
        let other = ["SEALPOST_CONFIG": "none.yaml"]
        let missing = try await self.run("user list", environment: other)
        #expect(missing.code == 78, "\(missing.errors)")
        #expect(missing.errors == "sealpost: none.yaml: cannot be read: No such file or directory\n")
        let doctor = try await self.run("doctor", environment: other)
        #expect(doctor.output == "fail configuration: none.yaml: cannot be read: No such file or directory\n")
        #expect(try await self.run("user list --config sealpost.yaml", environment: other).code == 0)
        #expect(try await self.run("doctor").output.hasPrefix("ok   configuration: ./sealpost.yaml\n"))
    }

    @Test func aFileThatOthersMayWriteIsUsedOnlyIfNamed() async throws {
        let file = self.folder.file("sealpost.yaml")
        try "database: own/push.db".write(toFile: file, atomically: true, encoding: .utf8)
        try #require(chmod(file, 0o666) == 0)
        let refused = try await self.run("user add alice --no-password")
        let text = "sealpost.yaml can be changed by every user (mode 0666), so it is not read; if you trust it, name it"
        #expect(refused.code == 78 && refused.errors.contains(text), "\(refused.errors)")
        #expect(try await self.run("user add alice --no-password --config sealpost.yaml").code == 0)
    }

    /// A command in the wrong folder, or with a forgotten `--config`, must not use a new database.
    @Test(arguments: [
        "status", "why alice", "send alice text", "deliveries --failed",
        "user list", "user import -", "user export -", "user passwd alice --password-stdin", "user role alice admin",
        "user remove alice", "user data alice", "user code alice", "user tags alice", "token list",
        "token create alice",
        "audit list", "audit verify", "deliveries 1", "keys list", "keys rotate", "keys rotate --direct", "keys reload",
        "keys remove 1", "signing-keys list", "signing-keys rotate", "migrate", "clock accept", "backup copy.db",
        "backup copy.db --direct", "restore copy.db", "move --to postgres://nobody@127.0.0.1:1/x",
    ])
    func aCommandThatNeedsADatabaseCreatesNone(command: String) async throws {
        let ended = try await self.run(command)
        #expect(ended.code != 0 && ended.output.isEmpty, "\(ended.output)")
        #expect(ended.errors.contains(/does not exist|is missing/), "\(ended.errors)")
        #expect(ended.errors.contains("built-in settings, as there is no ./sealpost.yaml"), "\(ended.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path) == [])
    }

    @Test func aMissingDatabaseIsReportedWithTheCommandsThatCreateOne() async throws {
        let file = try await self.run("user list")
        let text =
            "there is no database: var/sealpost.db does not exist; sealpost serve, init and user add create one\n"
        #expect(file.code == 1 && file.errors.hasPrefix("sealpost: \(text)"), "\(file.errors)")
        let backup = try await self.run("backup copy.db")
        #expect(backup.code == 1 && backup.errors.hasPrefix("sealpost: \(text)"), "\(backup.errors)")
        let environment = ["SEALPOST_DATABASE": try PostgreSQLCluster.shared.newDatabaseText()]
        let server = try await self.run("migrate", environment: environment)
        #expect(server.code == 1 && server.errors.contains(" has no tables; sealpost serve, init"), "\(server.errors)")
        #expect(try await self.run("user add alice --no-password", environment: environment).code == 0)
        #expect(try await self.run("migrate", environment: environment).code == 0)
    }

    /// If a command took the database for that of a new server, the server would print a link that
    /// creates an administrator. The file is missing, for example, if its volume is not mounted.
    @Test(
        arguments: ["serve", "init --yes", "user list", "user add bob --no-password", "migrate", "backup copy.db"],
        [true, false]
    )
    func anEmptiedOrMissingFileIsALostDatabase(command: String, isEmptied: Bool) async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let file = self.folder.file("var/sealpost.db")
        if isEmptied { try #require(truncate(file, 0) == 0) } else { try FileManager.default.removeItem(atPath: file) }
        let ended = try await self.run(command, environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"])
        #expect(ended.code == 78 && ended.output.isEmpty, "\(ended.output) \(ended.errors)")
        // `init` prints absolute paths, so the test checks only their ends.
        let fault = isEmptied ? "is empty" : "does not exist (is its volume mounted?)"
        let text = "var/sealpost.db \(fault), but "
        #expect(ended.errors.contains(text), "\(ended.errors)")
        let mark = isEmptied ? "keyring" : "has-database"
        let advice = "var/\(mark) exists, so a server may have used the database: restore a backup; or"
        #expect(ended.errors.contains(advice), "\(ended.errors)")
        #expect(try await self.run("doctor").output.contains("\nfail database: \(text)"))
        #expect(FileManager.default.contents(atPath: file) == (isEmptied ? Data() : nil))
        if isEmptied { try FileManager.default.removeItem(atPath: file) }
        try FileManager.default.removeItem(atPath: self.folder.file("var/has-database"))
        #expect(try await self.run("user add alice --no-password").code == 0)
    }

    /// No restart repairs the file, so the exit code tells the service manager not to try one.
    @Test(
        arguments: ["serve", "user list", "migrate", "keys list", "backup copy.db --force"],
        [0, 4096] as [UInt64]
    )
    func aDamagedDatabaseIsReportedWithARemedy(command: String, offset: UInt64) async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let file = try FileHandle(forWritingTo: URL(filePath: self.folder.file("var/sealpost.db")))
        try file.seek(toOffset: offset)
        try file.write(contentsOf: Data(repeating: 0xAA, count: 1 << 16))
        try file.close()
        let ended = try await self.run(command, environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"])
        #expect(ended.code == 78, "\(ended.errors)")
        #expect(ended.errors.contains("sealpost: cannot use var/sealpost.db: "), "\(ended.errors)")
        #expect(ended.errors.contains("; restore an intact backup\n"), "\(ended.errors)")
    }

    /// Keys may come from outside, for example as a secret of Kubernetes, which is read-only.
    @Test func keysFromOutsideAreNoSignOfALostDatabase() async throws {
        _ = try KeyringFile(self.folder.file("keys/keyring")).loadOrCreate()
        _ = try SigningKeyFile(self.folder.file("keys/signing-keys")).loadOrCreate()
        // The file of the mark cannot be made in a folder's place, and root ignores modes.
        try FileManager.default.createDirectory(
            atPath: self.folder.file("keys/has-database.init"),
            withIntermediateDirectories: false
        )
        let environment = ["SEALPOST_KEYS": "keys"]
        for name in ["alice", "bob"] {
            let added = try await self.run("user add \(name) --no-password", environment: environment)
            #expect(added.code == 0, "\(added.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: self.folder.file("keys/has-database")))
    }

    /// A server that joins others may have their keyring before its first start, so a keyring
    /// alone does not show that tables were lost.
    @Test func aDatabaseOnAServerWithoutItsTablesIsLost() async throws {
        func environment() throws -> [String: String] {
            ["SEALPOST_DATABASE": try PostgreSQLCluster.shared.newDatabaseText()]
        }
        _ = try KeyringFile(self.folder.file("var/keyring")).loadOrCreate()
        let joined = try await self.run("user add alice --no-password", environment: environment())
        #expect(joined.code == 0, "\(joined.errors)")
        let empty = try environment()
        for mark in ["timeline", "day-keys"] {
            let refused = try await self.run("user add bob --no-password", environment: empty)
            #expect(refused.code == 78, "\(refused.errors)")
            #expect(refused.errors.contains("is empty, but "), "\(refused.errors)")
            let advice = "/\(mark) exists, so a server may have used the database: restore a backup; or"
            #expect(refused.errors.contains(advice), "\(refused.errors)")
            #expect(try await self.run("doctor", environment: empty).output.contains("\nfail database: postgres"))
            try FileManager.default.removeItem(atPath: self.folder.file("var/\(mark)"))
        }
        #expect(try await self.run("user add bob --no-password", environment: empty).code == 0)
    }

    /// The error must name the database server, and not the missing keyring. Once the database
    /// server answers, a restart ends this error.
    @Test(arguments: ["serve", "user list", "user add alice --no-password", "migrate"])
    func aDatabaseServerThatRefusesConnectionsIsReported(command: String) async throws {
        let environment = [
            "SEALPOST_DATABASE": "postgres://nobody@127.0.0.1:1/x?sslmode=disable",
            "SEALPOST_SERVER_LISTEN": "127.0.0.1:0",
        ]
        let ended = try await self.run(command, environment: environment)
        #expect(ended.code == 1 && ended.errors.contains("Connection refused"), "\(ended.errors)")
        #expect(!ended.errors.contains("keyring"), "\(ended.errors)")
        #expect(!FileManager.default.fileExists(atPath: self.folder.file("var/keyring")))
    }

    @Test func aDatabaseWithoutUsersIsBackedUpOnlyByForce() async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let daemon = try await Daemon(in: self.folder)
        for options in ["", " --direct"] {
            let refused = try await self.run("backup copy.db\(options)")
            #expect(refused.code == 1 && refused.errors.contains("var/sealpost.db has no users; "), "\(refused.errors)")
            #expect(!FileManager.default.fileExists(atPath: self.folder.file("copy.db")))
            let made = try await self.run("backup copy.db --force\(options)")
            #expect(made.code == 0, "\(made.errors)")
            try FileManager.default.removeItem(atPath: self.folder.file("copy.db"))
        }
        #expect(await daemon.terminate() == 0)
    }

    @Test func theDoctorCreatesNoKeyOfWebPush() async throws {
        let yaml = "senders: {web: {type: webpush, subject: 'mailto:a@example.com', keyFile: vapid.pem}}"
        try yaml.write(toFile: self.folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        let ended = try await self.run("doctor")
        #expect(ended.output.contains("warn senders.web.keyFile: vapid.pem does not exist; "), "\(ended.output)")
        #expect(!FileManager.default.fileExists(atPath: self.folder.file("vapid.pem")))
    }
}
