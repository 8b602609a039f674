import Foundation
import PushAPI
import PushClient
import PushTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The commands, their errors and their help, as an operator sees them.
@Suite(.timeLimit(.minutes(5))) struct CommandLineTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func theDemonstrationSucceedsRepeatedly() async throws {
        for _ in 0..<2 {
            let ended = try await Daemon.run(["demo"], in: self.folder)
            #expect(ended.code == 0)
            #expect(ended.errors.isEmpty)
            #expect(ended.output.contains("the payload stayed on this machine"))
        }
    }

    @Test func theVersionMatchesTheChangelogAndTheAPIDocument() async throws {
        let ended = try await Daemon.run(["--version"], in: self.folder)
        #expect(ended.code == 0)
        let version = try #require(ended.output.prefixMatch(of: /\S+/)).output
        // Only `make release` puts the commit into the executable, and this executable was built
        // without it.
        #expect(ended.output == "\(version) (commit unknown: built without make release)\n")
        let changelog = try Repository.text(of: "CHANGELOG.md")
        let newest = changelog.firstMatch(of: /(?m)^## (\d\S+) - \d{4}-\d\d-\d\d$/)?.output.1
        #expect(newest == version)
        let document = try Repository.text(of: "Sources/PushServer/openapi.json")
        #expect(document.contains("\"version\": \"\(version)\""))
    }

    @Test func usersAreExportedAndImported() async throws {
        let lines = """
            {"Name":"alice","Role":"publisher","Tags":["role:nurse"]}
            {"Name":"bob","Role":"boss"}

            {"Name":"carol","Disabled":true}
            """
        try await Daemon.makeDatabase(in: self.folder)
        let dry = try await Daemon.run(["user", "import", "-", "--dry-run"], in: self.folder, input: lines)
        #expect(
            dry.output.hasSuffix("dry run, nothing was changed: would be 2 added, 0 changed, 0 unchanged, 1 refused\n")
        )
        let made = try await Daemon.run(["user", "import", "-"], in: self.folder, input: lines)
        #expect(made.code == 1)
        #expect(made.errors.hasPrefix("sealpost: 1 line was refused; correct the file and import it again\n"))
        #expect(
            made.output == """
                line 1: alice added
                line 2: refused: Role must be one of device, viewer, publisher, admin
                line 4: carol added
                2 added, 0 changed, 0 unchanged, 1 refused

                """
        )
        let file = self.folder.path + "/users.jsonl"
        let written = try await Daemon.run(["user", "export", file], in: self.folder)
        #expect(written.output == "2 users written to \(file)\n", "\(written.errors)")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(
            text.contains(
                #"{"Name":"alice","Role":"publisher","Apps":["default"],"Tags":["role:nurse"],"Disabled":false,"HasPassword":false,"#
            )
        )
        let again = try await Daemon.run(["user", "import", file], in: self.folder)
        #expect(
            again.code == 0 && again.output.hasSuffix("0 added, 0 changed, 2 unchanged, 0 refused\n"),
            "\(again.output)"
        )
        let taken = try await Daemon.run(["user", "export", file], in: self.folder)
        #expect(taken.code == 1 && taken.errors.contains("cannot be created"))
        _ = try await Daemon.run(["user", "remove", "carol"], in: self.folder)
        let one = try await Daemon.run(["user", "export", "one.jsonl"], in: self.folder)
        #expect(one.output == "1 user written to one.jsonl\n", "\(one.errors)")
    }

    /// An attacker can choose some of the text in errors: the member names of an imported file, or
    /// the arguments that a script passes on.
    @Test(arguments: [[], ["--json"]]) func controlCharactersInForeignTextAreEscaped(form: [String]) async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let line = #"{"Name":"bob","\u001b]0;x\u0007\u009b2J\u202e\nline 2: carol added":1}"#
        let made = try await Daemon.run(["user", "import", "-"] + form, in: self.folder, input: line + "\n")
        #expect(made.code == 1 && made.output.contains(#"\u001b]0;x\u0007\u009b2J\u202e"#), "\(made.output)")
        for argument in ["a\u{1B}[2J", "--a\u{1B}[2J"] {
            let unknown = try await Daemon.run(["user", argument] + form, in: self.folder)
            #expect(unknown.code == 64 && unknown.errors.contains(#"a\u001b[2J"#), "\(unknown.errors)")
            #expect(
                !(made.output + unknown.errors).unicodeScalars.contains {
                    "\u{1B}\u{7}\u{9B}\u{202E}".unicodeScalars.contains($0)
                }
            )
        }
        let lines = made.output.split(separator: "\n")
        #expect(lines.count == 2)
        if !form.isEmpty { for line in lines { _ = try JSONValue(reading: Array(line.utf8)) } }
    }

    @Test func aUserIsMadeOnceAndMaySignIn() async throws {
        let made = try await Daemon.run(
            ["user", "add", "alice", "--password-stdin"],
            in: folder,
            input: "correct horse\n"
        )
        #expect(made.code == 0)
        #expect(made.output == "user alice created with the role device\n")
        let again = try await Daemon.run(
            ["user", "add", "Alice", "--password-stdin"],
            in: folder,
            input: "other horse\n"
        )
        #expect(again.code == 1)
        #expect(again.errors.hasPrefix("sealpost: user Alice already exists\n"))
        let daemon = try await Daemon(in: folder)
        let stack = try #require(URL(string: "/api/register", relativeTo: daemon.server))
        var request = URLRequest(url: stack)
        request.setValue(
            "Basic \(Data("alice:correct horse".utf8).base64EncodedString())",
            forHTTPHeaderField: "Authorization"
        )
        let (_, response) = try await URLSession.shared.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(await daemon.terminate() == 0)
    }

    @Test func theAuditIsListedAndVerified() async throws {
        try await Daemon.makeAlice(in: folder)
        _ = try await Daemon.run(["token", "create", "alice"], in: folder)
        let list = try await Daemon.run(["audit", "list", "--limit", "5"], in: folder)
        let lines = list.output.split(separator: "\n")
        #expect(lines.count == 2)
        let added = /^2\t\S+\ttoken\.add\talice\ttoken [0-9a-f]{16}, scopes (.+), until \S+\tlocal \S+\t\tlocal\t\S+$/
        #expect(try added.firstMatch(in: lines.first ?? "")?.1 == "fetch send register")
        #expect(lines.last?.contains("\tuser.add\talice\tdevice\t") == true)
        let verified = try await Daemon.run(["audit", "verify"], in: folder)
        #expect(verified.output == "audit verified up to entry 2\n")
        #expect(verified.code == 0)
    }

    @Test func aTokenIsMadeListedUsedAndRevoked() async throws {
        try await Daemon.makeAlice(in: folder)
        let made = try await Daemon.run(["token", "create", "alice", "--scope", "send"], in: folder)
        let token = try #require(made.output.wholeMatch(of: /(spt_\w{42})\n/)?.output.1)
        let other = try await Daemon.run(["token", "create", "alice", "--expires-in", "60"], in: folder)
        let daemon = try await Daemon(in: folder)
        let client = PushClient(
            server: try daemon.server,
            credentials: .token(String(token)),
            options: .init(testing: [])
        )
        _ = try await client.send("hello")
        #expect(await daemon.terminate() == 0)
        let list = try await Daemon.run(["token", "list", "--user", "Alice"], in: folder)
        #expect(list.output.contains("\(token.prefix(12))  alice  token  send  until "))
        #expect(list.output.contains("\(other.output.prefix(12))  alice  token  fetch send register  until "))
        #expect(list.output.contains("not used"))
        #expect(list.output.split(separator: "\n").count { $0.contains(/\bused \d{4}-/) } == 1, "\(list.output)")
        let prefix = String(token.prefix(12))
        let revoked = try await Daemon.run(["token", "revoke", prefix], in: folder)
        #expect(revoked.output == "token \(prefix) revoked\n")
        let again = try await Daemon.run(["token", "revoke", prefix], in: folder)
        #expect(again.code == 1)
        #expect(again.errors.hasPrefix("sealpost: token \(prefix) does not exist; see sealpost token list\n"))
        #expect(try await Daemon.run(["token", "list"], in: folder).output.split(separator: "\n").count == 1)
    }

    /// The database lists the users in another order, because their names are encrypted there.
    @Test func usersAreListedByName() async throws {
        let names = ["dora", "alice", "carl", "bea", "fred", "emil"]
        for name in names {
            let arguments = ["user", "add", name, "--no-password"] + (name == "bea" ? ["--require-encryption"] : [])
            let added = try await Daemon.run(arguments, in: self.folder)
            #expect(added.code == 0 && added.output.contains("end-to-end payloads only") == (name == "bea"))
        }
        let lines = try await Daemon.run(["user", "list"], in: self.folder).output.split(separator: "\n")
        #expect(lines.map { $0.prefix { $0 != " " } }.map(String.init) == names.sorted())
        #expect(lines.filter { $0.hasSuffix("  encryption required") }.count == 1 && lines[1].hasPrefix("bea  "))
    }

    @Test func usersAreListedChangedAndRemoved() async throws {
        let steps: [(arguments: [String], output: String, list: String)] = [
            (["role", "Alice", "admin"], "Alice is admin", "alice  admin  since "),
            (["role", "alice", "publisher"], "alice is publisher", "alice  publisher  since "),
            (["disable", "alice"], "alice is disabled", "  disabled\n"),
            (["enable", "alice"], "alice is enabled", "alice  publisher  since "),
            (["remove", "alice"], "alice is deleted", "boss  admin  since "),
        ]
        for arguments in [["alice"], ["boss", "--role", "admin"]] {
            let input = "correct horse\n"
            _ = try await Daemon.run(["user", "add", "--password-stdin"] + arguments, in: folder, input: input)
        }
        for step in steps {
            let ended = try await Daemon.run(["user"] + step.arguments, in: self.folder)
            #expect(ended.output == step.output + "\n", "\(ended.errors)")
            #expect(try await Daemon.run(["user", "list"], in: self.folder).output.contains(step.list))
        }
        #expect(try await Daemon.run(["user", "list"], in: self.folder).output.split(separator: "\n").count == 1)
        for arguments in [["role", "boss", "device"], ["disable", "boss"], ["remove", "boss"]] {
            let ended = try await Daemon.run(["user"] + arguments, in: self.folder)
            #expect(ended.code == 1)
            #expect(ended.errors.hasPrefix("sealpost: boss is the last enabled administrator; add another one first\n"))
        }
    }

    @Test func aNewPasswordSignsInAndADisabledUserDoesNot() async throws {
        try await Daemon.makeAlice(in: folder)
        let changed = try await Daemon.run(
            ["user", "passwd", "alice", "--password-stdin"],
            in: folder,
            input: "another horse\n"
        )
        #expect(changed.output == "alice has a new password\n")
        for command in ["enable", "disable"] {
            #expect(try await Daemon.run(["user", command, "alice"], in: self.folder).code == 0)
            let daemon = try await Daemon(in: self.folder)
            for (password, isRight) in [("correct horse", false), ("another horse", command == "enable")] {
                let client = PushClient(
                    server: try daemon.server,
                    credentials: .basic(username: "alice", password: password),
                    options: .init(testing: [])
                )
                // The test needs to know only whether the server accepts the password.
                let item = try? await client.send("hello")
                #expect((item != nil) == isRight, "\(command): \(password)")
            }
            #expect(await daemon.terminate() == 0)
        }
    }

    @Test(arguments: [
        (["user", "role", "bob", "admin"], "", 1, "user bob does not exist"),
        (["user", "remove", "a:b"], "", 1, "user a:b does not exist"),
        (["user", "passwd", "bob", "--password-stdin"], "long enough", 1, "user bob does not exist"),
        (["user", "passwd", "alice", "--password-stdin"], "Password1", 64, "this password is too common"),
        (["user", "add", "alice2", "--password-stdin"], "password", 64, "this password is too common"),
        (["user", "add", "alicealice", "--password-stdin"], "ALICEalice", 64, "a password must not be the user name"),
    ])
    func aRefusedUserCommandReportsTheReason(arguments: [String], input: String, code: Int32, message: String)
        async throws
    {
        try await Daemon.makeAlice(in: folder)
        let ended = try await Daemon.run(arguments, in: self.folder, input: input + "\n")
        #expect(ended.code == code)
        #expect(ended.errors.contains(message), "\(ended.errors)")
        #expect(ended.output.isEmpty)
    }

    /// A quote in the text needs two bytes in JSON.
    @Test(arguments: [(65_534, "x", 0), (65_535, "x", 64), (32_767, "\"", 0), (32_768, "\"", 64), (100_000, "x", 64)])
    func aTextThatIsTooLongIsWrongUsage(count: Int, character: String, code: Int32) async throws {
        try await Daemon.makeAlice(in: self.folder)
        let input = String(repeating: character, count: count)
        let ended = try await Daemon.run(["send", "alice", "-"], in: self.folder, input: input)
        #expect(ended.code == code, "\(ended.errors.prefix(500))")
        let text = "bytes in JSON, more than notifications.maxPayload, 65536\n"
        #expect(ended.errors.contains(text) == (code != 0), "\(ended.errors.prefix(500))")
    }

    @Test(arguments: [
        (["token", "create", "bob"], 1, "user bob does not exist"),
        (["token", "create", "a:b"], 1, "user a:b does not exist"),
        (["token", "create", "alice", "--scope", "manage"], 64, "a token of a device can have"),
        (["token", "create", "alice", "--expires-in", "0"], 64, "a token's lifetime must be 1 to 31536000 seconds"),
        (["token", "create", "alice", "--expires-in", "366d"], 64, "a token's lifetime must be 1 to 31536000 seconds"),
        (["send", "alice", "text", "--at", "2020-01-01T00:00:00Z"], 64, "--at has passed; leave it out"),
        (["send", "alice", "text", "--expires-in", "31d"], 64, "--expires-in must be 1 to 2592000 seconds"),
        (["send", "alice", "text", "--at", "tomorrow"], 64, "--at must be a time with its zone"),
        (["send", "nobody", "text"], 1, "user nobody does not exist"),
        (["token", "list", "--user", "a:b"], 64, "\"a:b\" is not a user name"),
        (["token", "revoke", "spt_"], 1, "token spt_ does not exist"),
    ])
    func aRefusedOrderReportsTheReason(arguments: [String], code: Int32, message: String) async throws {
        try await Daemon.makeAlice(in: folder)
        let ended = try await Daemon.run(arguments, in: self.folder)
        #expect(ended.code == code)
        #expect(ended.errors.contains(message), "\(ended.errors)")
        #expect(ended.output.isEmpty)
    }

    @Test(arguments: [
        (["user", "add", "a:b", "--password-stdin"], "long enough", "\"a:b\" is not 1 to 100 characters"),
        (
            ["user", "add", "bob", "--password-stdin"], "short",
            "a password must have at least 8 characters and at most 256 bytes"
        ),
        (
            ["user", "add", "bob", "--password-stdin"], "",
            "a password must have at least 8 characters and at most 256 bytes"
        ),
        (["user", "add", "bob", "--role", "king", "--password-stdin"], "long enough", "The value 'king' is invalid"),
        (["user", "list", "fly"], "", "Unexpected argument 'fly'"),
        (["user", "list", "--jsn"], "", "Unknown option '--jsn'. Did you mean '--json'?"),
        (["backup", "x", "--dirct"], "", "Unknown option '--dirct'. Did you mean '--direct'?"),
        (["user", "tags", "bob", "a", "--none"], "", "--none and tags cannot be combined"),
        (["user", "code", "bob", "--expires-in", "59"], "", "--expires-in must be 60 to 86400 seconds"),
        (["user", "code", "bob", "--expires-in", "25h"], "", "--expires-in must be 60 to 86400 seconds"),
        (["send", "bob", "text", "--expires-in", "1w"], "", "it must be a number of seconds, or have a unit: 30s"),
        (["send", "bob", ""], "", "the text is empty"), (["send", "bob", "-"], "", "the text is empty"),
    ])
    func wrongUsageIsReported(arguments: [String], input: String, message: String) async throws {
        let ended = try await Daemon.run(arguments, in: self.folder, input: input + "\n")
        #expect(ended.code == 64)
        #expect(ended.errors.contains(message), "\(ended.errors)")
    }

    @Test(arguments: [
        (["usr", "list"], "usr; did you mean user?"), (["user", "ad", "bob"], "user ad; did you mean user add?"),
        (["key", "rotate"], "key; did you mean keys?"), (["keys", "rotat"], "keys rotat; did you mean keys rotate?"),
        (["fly\n", "--config", "x"], "fly\\u000a; known are init, serve, demo, "),
        (["audit", "fly"], "audit fly; known are list, verify\n"),
    ])
    func anUnknownCommandIsReportedWithASuggestion(arguments: [String], hint: String) async throws {
        let ended = try await Daemon.run(arguments, in: self.folder)
        #expect(ended.code == 64 && ended.output.isEmpty)
        #expect(ended.errors.hasPrefix("sealpost: unknown command \(hint)"), "\(ended.errors)")
        #expect(ended.errors.split(separator: "\n").count == 1)
    }

    @Test(arguments: ["list", "rotate", "remove 2"])
    func theErrorAboutMissingSigningKeysHasBothCausesAndTheirCures(command: String) async throws {
        let words = ["signing-keys"] + command.split(separator: " ").map(String.init)
        let ended = try await Daemon.run(words, in: self.folder)
        #expect(ended.code == 78)
        for text in ["serve, init and user add create it with a new database", "signing-keys rotate creates one"] {
            #expect(ended.errors.contains(text), "\(ended.errors)")
        }
    }

    @Test(arguments: [
        ("nonsense: 1", "sealpost: bad.yaml:1: nonsense: is not known here"),
        (
            """
            senders: {apns: {type: apns, keyFile: none.p8, keyID: AAAAAAAAAA, teamID: BBBBBBBBBB, topic: t, envelope: alert}}
            """,
            "sealpost: bad.yaml:1: senders.apns.keyFile: none.p8 cannot be read"
        ),
        (
            """
            senders: {apns: {type: apns, keyFile: bad.yaml, keyID: AAAAAAAAAA, teamID: BBBBBBBBBB, topic: t, envelope: alert}}
            """,
            "sealpost: bad.yaml:1: senders.apns.key"
        ),
        ("senders: {fcm: {type: fcm, serviceAccount: bad.yaml}}", "sealpost: bad.yaml:1: senders.fcm.serviceAccount"),
    ])
    func aBadConfigurationStopsTheStartAndIsNamed(yaml: String, message: String) async throws {
        try yaml.write(toFile: self.folder.file("bad.yaml"), atomically: true, encoding: .utf8)
        let ended = try await Daemon.run(["serve", "--config", "bad.yaml"], in: self.folder)
        #expect(ended.code == 78)
        #expect(ended.errors.contains(message), "\(ended.errors)")
    }

    @Test func aSecondDaemonOnTheSameDatabaseIsRefused() async throws {
        let daemon = try await Daemon(in: self.folder)
        let second = try await Daemon.run(["serve"], in: folder, environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"])
        #expect(second.code == 1)
        let process = "another process (\(daemon.process.id))"
        let text = "the database var/sealpost.db is in use by \(process); stop that process first"
        #expect(second.errors.hasPrefix("sealpost: \(text)\n"), "\(second.errors)")
        let moved = try await Daemon.run(["migrate"], in: folder)
        #expect(moved.code == 1)
        #expect(moved.errors.contains("in use by another process"))
        #expect(await daemon.terminate() == 0)
    }

    /// The help must give the steps in the same order as docs/operate/keys.md.
    @Test func theHelpOfKeysRotateBacksUpTheKeyringAfterwards() async throws {
        let help = try await Daemon.run(["keys", "rotate", "--help"], in: self.folder).output
        #expect(help.contains("Back up the keyring afterwards, before `reload`"), "\(help)")
    }

    @Test func aWrongValueIsReportedWithoutTheUsageOfAllCommands() async throws {
        let ended = try await Daemon.run(["token", "create", "alice", "--expires-in", "0"], in: self.folder)
        #expect(ended.code == 64 && ended.errors == "sealpost: a token's lifetime must be 1 to 31536000 seconds\n")
    }

    @Test func aNameMayHaveAPlusAndNoOtherLettersThanThoseOfASCII() async throws {
        let (name, folder) = ("alice+push@example.com", self.folder)
        for words in [["add", name, "--no-password"], ["tags", name, "a+b"], ["data", name], ["remove", name]] {
            let ended = try await Daemon.run(["user"] + words, in: folder)
            #expect(ended.code == 0, "\(ended.errors)")
        }
        let refused = try await Daemon.run(["user", "add", "älice", "--no-password"], in: folder)
        let text = "sealpost: \"älice\" is not 1 to 100 characters of A-Z a-z 0-9 - _ @ # + ., but not . or ..\n"
        #expect(refused.code == 64 && refused.errors == text, "\(refused.errors)")
    }

    @Test func anAddressInUseIsNamed() async throws {
        let daemon = try await Daemon(in: self.folder)
        let other = try TemporaryFolder()
        let address = "127.0.0.1:\(daemon.port)"
        let second = try await Daemon.run(["serve"], in: other, environment: ["SEALPOST_SERVER_LISTEN": address])
        #expect(second.code == 1)
        let text = "bind to \(address): Address already in use; stop the program that has the address"
        #expect(second.errors.contains("sealpost: SEALPOST_SERVER_LISTEN: \(text)"), "\(second.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == [])
        #expect(await daemon.terminate() == 0)
    }

    @Test func theMigrateCommandUpdatesTheSchema() async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let ended = try await Daemon.run(["migrate"], in: self.folder)
        #expect(ended.code == 0)
        #expect(ended.output == "var/sealpost.db is up to date\n")
    }

    @Test func aDaemonSendsItsPushesToTheSimulators() async throws {
        let simulators = try ChildProcess(Daemon.executable, ["simulate", "--folder", "sim"], in: folder.path)
        #expect(await simulators.output(until: "A channel").contains("sealpost serve --config sim/sealpost.yaml"))
        try await Daemon.makeAlice(in: folder)
        let daemon = try await Daemon(in: folder, arguments: ["--config", "sim/sealpost.yaml"])
        let client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
        try await client.register(platform: "gcm", handle: "a-registration-token")
        let item = try await client.send("hello")
        #expect(await simulators.output(until: "\"secureId\":\"\(item.id)\"").contains("fcm 200: "))
        #expect(await daemon.terminate() == 0)
        simulators.signal(SIGTERM)
        _ = await simulators.end()
    }
}
