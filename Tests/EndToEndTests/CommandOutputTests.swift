import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// The output of commands: tables for people, JSON for scripts.
@Suite(.timeLimit(.minutes(5))) struct CommandOutputTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    /// Runs a command with `--json` that must succeed. Returns the JSON value of each line that it
    /// prints.
    private func run(
        _ arguments: String,
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> [JSONValue] {
        let words = arguments.split(separator: " ").map(String.init) + ["--json"]
        let ended = try await Daemon.run(words, in: self.folder, input: input)
        #expect(ended.code == 0, "\(arguments): \(ended.errors)", sourceLocation: sourceLocation)
        return try ended.output.split(separator: "\n").map { try JSONValue(reading: Array($0.utf8)) }
    }

    private func names(_ value: JSONValue?) -> [String] {
        guard case .object(let members)? = value else { return [] }
        return members.map(\.name)
    }

    @Test func commandsPrintTheDocumentedJSON() async throws {
        let added = try await self.run("user add alice --no-password --role publisher")
        #expect(added.map(self.names) == [["Name", "Role", "Apps", "RequiresEncryption"]])
        #expect(try await self.run("user role alice device").first?["Role"] == .string("device"))
        #expect(try await self.run("user disable alice").first?["Disabled"] == .bool(true))
        _ = try await self.run("user add bob --no-password")
        let users = try await self.run("user list")
        let shape = [
            "Name", "Role", "Apps", "Tags", "CreatedAt", "Disabled", "HasPassword", "RequiresEncryption", "LastPush",
            "LastFetch",
        ]
        #expect(users.map(self.names) == [shape, shape])
        #expect(try await self.run("user remove alice") == [.object([.init("Name", .string("alice"))])])
        let token = try #require(try await self.run("token create bob --expires-in 60").first)
        #expect(self.names(token) == ["Token", "Prefix", "ExpiresAt", "Scopes"])
        let tokens = try await self.run("token list")
        #expect(tokens.first?["Prefix"] == token["Prefix"] && tokens.count == 1)
        #expect(try await self.run("token revoke \(token.field("Prefix"))").first?["Prefix"] == token["Prefix"])
        let entries = try await self.run("audit list --limit 2")
        #expect(entries.map { $0.field("Action") } == ["token.revoke", "token.add"])
        #expect(try await self.run("audit verify").first?["Verified"]?.integer == 7)
        let outcomes = try await self.run("user import -", input: "\n" + #"{"Name":"carol"}"#)
        let shapes = [["Line", "Name", "Outcome"], ["Added", "Changed", "Unchanged", "Refused"]]
        #expect(outcomes.map(self.names) == shapes)
        #expect(outcomes.first?["Line"]?.integer == 2 && outcomes.last?["Added"]?.integer == 1)
        let file = self.folder.file("users.jsonl")
        #expect(try await self.run("user export \(file)").first?["Users"]?.integer == 2)
        let copy = self.folder.file("copy")
        #expect(try await self.run("backup \(copy)").first?.field("File") == copy)
        #expect(try await self.run("keys list").first?["Task"] == .string("seals"))
        #expect(try await self.run("keys rotate").first?["Key"]?.integer == 2)
        #expect(try await self.run("keys reload").map(self.names) == [["Seals", "Renewed", "Unreadable", "Unused"]])
        #expect(try await self.run("migrate").first?.field("Database") == "var/sealpost.db")
        let status = try await self.run("status")
        #expect(status.first.map(self.names)?.prefix(2) == ["Running", "Version"] && status.count == 1)
        let sent = try await self.run("send bob text")
        #expect(sent.first.map(self.names)?.first == "Id")
        let brief = try #require(try await self.run("send bob text --expires-in 90m").first)
        let (made, end) = (Date(rfc3339: brief.field("CreatedAt")), Date(rfc3339: brief.field("ExpiresAt")))
        #expect(try #require(end) == #require(made) + 5400)
        let id = try #require(sent.first?["Id"]?.integer)
        let recipients = try await self.run("deliveries \(id) --recipients")
        #expect(recipients.map(self.names) == [["User", "FetchedAt", "ReadAt", "DismissedAt"]])
        let failed = try await Daemon.run(["deliveries", "--failed", "--json"], in: self.folder)
        #expect(failed.code == 0 && failed.output == "" && failed.errors == "", "\(failed)")
        #expect(try await self.run("why bob").map(self.names) == [["Subject", "Kind", "Sentences"]])
        let findings = try await self.run("doctor")
        #expect(findings.allSatisfy { self.names($0) == ["Grade", "Subject", "Text"] } && findings.count > 3)
        let restored = try await self.run("restore \(copy) --replace")
        #expect(restored.map(self.names) == [["Database", "File"]])
    }

    @Test func changesOfUsersAndKeysPrintTheDocumentedJSON() async throws {
        _ = try await self.run("user add alice --no-password")
        #expect(try await self.run("user disable alice").first?["Disabled"] == .bool(true))
        #expect(try await self.run("user enable alice").first?["Disabled"] == .bool(false))
        let required = try await self.run("user encryption alice required")
        #expect(required.first?["RequiresEncryption"] == .bool(true))
        let optional = try await self.run("user encryption alice optional")
        #expect(optional.first?["RequiresEncryption"] == .bool(false))
        let changed = try await self.run("user passwd alice --password-stdin", input: "correct horse\n")
        #expect(changed.first?["Name"] == .string("alice") && changed.first?["HasPassword"] == .bool(true))
        #expect(try await self.run("user code alice").map(self.names) == [["Code", "ExpiresAt", "Scopes"]])
        #expect(try await self.run("user tags alice team:a").first?.texts("Tags") == ["team:a"])
        let shown = try #require(try await self.run("user tags alice").first)
        #expect(self.names(shown) == ["Name", "Tags"] && shown.texts("Tags") == ["team:a"])
        #expect(try await self.run("keys rotate").map(self.names) == [["Key", "File"]])
        #expect(try await self.run("keys reload").first?["Seals"]?.integer == 2)
        #expect(try await self.run("keys remove 1").first?["Key"]?.integer == 1)
        #expect(
            try await self.run("init --config other.yaml --database other/push.db").map(self.names) == [
                ["File", "Keys", "Administrator", "Done", "Next"]
            ]
        )
        let daemon = try await Daemon(in: self.folder)
        let health = try await self.run("health --address 127.0.0.1:\(daemon.port)")
        #expect(
            health == [
                .object([
                    .init("Address", .string("127.0.0.1:\(daemon.port)")), .init("Status", .string("alive")),
                ])
            ]
        )
        #expect(await daemon.terminate() == 0)
        #expect(try await self.run("signing-keys rotate").first?["Key"]?.integer == 2)
        let keys = try await self.run("signing-keys list")
        let shape = ["Key", "Task", "KeyId", "PublicKey"]
        #expect(keys.map(self.names) == [shape, shape])
        #expect(try await self.run("signing-keys remove 1").map(self.names) == [["Key", "File"]])
    }

    @Test(arguments: [
        ("user remove nobody", 1, "urn:sealpost:problem:not-found", "user nobody does not exist"),
        ("user add a:b --no-password", 64, "urn:sealpost:command:wrong-usage", "\"a:b\" is not 1 to 100"),
        ("user add alice --no-password --app x", 64, "urn:sealpost:problem:unknown-app", "\"x\" is not configured"),
        ("user code nobody", 1, "urn:sealpost:problem:not-found", "user nobody does not exist"),
        ("user data nobody", 1, "urn:sealpost:problem:not-found", "user nobody does not exist"),
        ("user tags nobody a", 1, "urn:sealpost:problem:not-found", "user nobody does not exist"),
        ("init --listen x:80", 64, "urn:sealpost:command:wrong-usage", "\"x:80\" is not an address"),
        ("health --address 127.0.0.1:1", 1, "urn:sealpost:command:command-failed", "127.0.0.1:1 does not answer"),
        ("user export /", 1, "urn:sealpost:command:command-failed", "/ cannot be created"),
        ("user list --config none.yaml", 78, "urn:sealpost:command:bad-configuration", "none.yaml: cannot be read"),
    ])
    func anErrorIsAProblemWithAStableCode(arguments: String, code: Int32, type: String, detail: String) async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let words = arguments.split(separator: " ").map(String.init) + ["--json"]
        let ended = try await Daemon.run(words, in: self.folder)
        #expect(ended.code == code)
        #expect(ended.output.isEmpty)
        let problem = try JSONValue(reading: Array(ended.errors.utf8))
        #expect(problem.field("type") == type, "\(ended.errors)")
        #expect(problem.field("detail").contains(detail), "\(ended.errors)")
        #expect(!problem.field("title").isEmpty)
    }

    /// The exit code must not be that of a wrong usage: the same command works when the user no
    /// longer requires encryption.
    @Test func aTextToAUserWhoRequiresEncryptionIsRefusedWithExitCode1() async throws {
        _ = try await self.run("user add alice --no-password")
        _ = try await self.run("user encryption alice required")
        let ended = try await Daemon.run(["send", "alice", "text", "--json"], in: self.folder)
        #expect(ended.code == 1 && ended.output.isEmpty)
        let problem = try JSONValue(reading: Array(ended.errors.utf8))
        #expect(problem.field("type") == "urn:sealpost:problem:encryption-required")
        #expect(
            problem.field("detail")
                == "user alice accepts end-to-end payloads only; this command sends clear text, so let a backend send with end-to-end encryption"
        )
    }

    @Test func anImportWithRefusedLinesEndsWithAProblem() async throws {
        try await Daemon.makeDatabase(in: self.folder)
        let words = ["user", "import", "-", "--json"]
        let ended = try await Daemon.run(words, in: self.folder, input: #"{"Name":"a","Role":"boss"}"#)
        #expect(ended.code == 1)
        #expect(ended.output.contains(#""Outcome":"refused","Reason":"Role must be one of"#))
        let problem = try JSONValue(reading: Array(ended.errors.utf8))
        #expect(problem.field("type") == "urn:sealpost:command:lines-refused")
    }

    @Test(arguments: CommandProblem.Code.allCases)
    func everyCodeIsInTheDocumentation(code: CommandProblem.Code) throws {
        #expect(try Repository.text(of: "docs/operate/commands.md").contains("| `\(code.rawValue)` |"))
    }

    @Test func aTableIsAlignedUnderTheNamesOfItsColumns() {
        var table = Table(["NAME", "ROLE", "STATE"])
        var empty = table
        #expect(empty.takeLines() == ["NAME  ROLE  STATE"])
        table.rows = [["alice", "device", "enabled"], ["bo", "admin", "disabled"]]
        #expect(table.takeLines() == ["NAME   ROLE    STATE", "alice  device  enabled", "bo     admin   disabled"])
        // Later pages have the same column widths, and no headings.
        table.rows = [["x", "y", "z"]]
        #expect(table.takeLines() == ["x      y       z"])
        #expect(table.takeLines().isEmpty)
    }

    @Test(arguments: [
        (ListPrinter.Form.json, [#"{"A":1}"#, #"{"A":2}"#]), (.lines, ["1!", "2!"]), (.table, ["A", "1", "2"]),
    ])
    func aListIsPrintedAsJSONLinesOrATable(form: ListPrinter.Form, lines: [String]) {
        var printed: [String] = []
        var list = ListPrinter(form, columns: ["A"]) { printed.append($0) }
        for number in 1...2 {
            list.add(.object([.init("A", .number(number))]), cells: ["\(number)"], line: "\(number)!")
        }
        list.end()
        #expect(printed == lines)
    }

    /// Commands print tables only on a terminal.
    @Test func aTerminalShowsATable() async throws {
        try await Daemon.makeDatabase(in: self.folder)
        #expect(try await self.table("user list") == ["NAME  ROLE  SINCE  APPS  PASSWORD  STATE"])
        _ = try await Daemon.run(["user", "add", "alice", "--no-password"], in: self.folder)
        let lines = try await self.table("user list")
        #expect(lines.first == "NAME   ROLE    SINCE       APPS     PASSWORD  STATE")
        #expect(lines.last?.hasPrefix("alice  device  ") == true)
        #expect(lines.last?.hasSuffix("  enabled") == true)
        _ = try await self.run("user encryption alice required")
        #expect(try await self.table("user list").last?.hasSuffix("  enabled, encryption required") == true)
    }

    /// In each list, a row must have a cell under each heading.
    @Test func eachListIsATable() async throws {
        let made = try await Daemon.run(["init", "--config", "sealpost.yaml"], in: self.folder)
        #expect(made.code == 0, "\(made.errors)")
        for words in ["user add alice --no-password", "token create alice --scope fetch --scope send"] {
            let ended = try await Daemon.run(words.split(separator: " ").map(String.init), in: self.folder)
            #expect(ended.code == 0, "\(ended.errors)")
        }
        let day = #"\d{4}-\d\d-\d\d"#
        for (command, head, row) in [
            (
                "token list", "TOKEN USER KIND SCOPES UNTIL USED",
                #"spt_\w+  alice +token +fetch send  \#(day)  never"#
            ),
            (
                "audit list --limit 1", "NUMBER TIME ACTION SUBJECT ACTOR CLIENT DETAIL",
                #"\d+ +\#(day)T[\d:]+Z  token.add +alice +local \S+  local +token .+"#
            ),
            ("keys list", "KEY TASK USE", #"1    encrypts  in use since \#(day), \d+ values encrypted"#),
            ("signing-keys list", "KEY TASK KEYID PUBLIC KEY", #"1    signs  [\w-]+ +[\w-]{43}"#),
        ] {
            let lines = try await self.table(command)
            #expect(lines.count == 2, "\(command): \(lines)")
            #expect(lines.first?.split(separator: " ").joined(separator: " ") == head, "\(command): \(lines)")
            #expect(try lines.last?.wholeMatch(of: Regex(row)) != nil, "\(command): \(lines)")
        }
    }

    /// Returns the lines that a command prints on a terminal.
    private func table(_ command: String) async throws -> [String] {
        // script(1) gives the command a terminal.
        let ended = try await ChildProcess(
            "/usr/bin/script",
            ["-qec", "'\(Daemon.executable)' \(command)", "/dev/null"],
            in: self.folder.path
        ).end()
        return ended.output.components(separatedBy: "\r\n").filter { !$0.isEmpty }
    }
}
