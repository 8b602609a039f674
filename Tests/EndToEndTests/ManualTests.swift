import Foundation
import PushAPI
import PushTesting
import Testing

/// The man page and the completions contain every command and every option of the program.
@Suite(.timeLimit(.minutes(5))) struct ManualTests {
    /// A command that the help shows, with the names of the commands above it, and its own options
    /// and arguments.
    private struct Command {
        let path: [String]
        let options: [String]
        let arguments: [String]
        let subcommands: [String]

        /// Returns the command that `value` describes, and all its visible subcommands.
        static func all(_ value: JSONValue, under parents: [String] = []) -> [Self] {
            let path = parents + [value["commandName"]?.text ?? ""]
            let below = Self.items(value["subcommands"]).filter {
                $0["commandName"]?.text != "help" && $0["shouldDisplay"] != .bool(false)
            }
            let arguments = Self.items(value["arguments"]).filter { $0["shouldDisplay"] == .bool(true) }
            let own = Self(
                path: path,
                options: arguments.flatMap { Self.items($0["names"]) }.compactMap { name in
                    guard let text = name["name"]?.text, !["help", "version"].contains(text) else { return nil }
                    return name["kind"]?.text == "long" ? "--\(text)" : nil
                },
                arguments: arguments.filter { $0["kind"]?.text == "positional" }.compactMap { $0["valueName"]?.text },
                subcommands: below.compactMap { $0["commandName"]?.text }
            )
            return [own] + below.flatMap { Self.all($0, under: path) }
        }

        private static func items(_ value: JSONValue?) -> [JSONValue] {
            guard case .array(let items)? = value else { return [] }
            return items
        }
    }

    private let folder: TemporaryFolder
    private let commands: [Command]

    init() async throws {
        self.folder = try TemporaryFolder()
        let dump = try await Daemon.run(["--experimental-dump-help"], in: self.folder).output
        let root = try #require(try JSONValue(reading: Array(dump.utf8))["command"])
        self.commands = Command.all(root)
        // Without this check, the tests would pass if no command were found.
        try #require(self.commands.count > 30 && self.commands.flatMap(\.options).count > 60)
        try #require(self.commands.contains { $0.path.last == "reload" && $0.options.contains("--config") })
    }

    @Test func theManPageHasAllCommandsAndOptions() async throws {
        let script = Repository.file("scripts/make-manual").path
        let ended = try await ChildProcess(
            "/usr/bin/python3",
            [script, "command", Daemon.executable],
            in: self.folder.path
        ).end()
        try #require(ended.code == 0, "\(ended.errors)")
        let sections = ended.output.replacing("\\-", with: "-").components(separatedBy: "\n.SS ").dropFirst()
        for command in self.commands.dropFirst() where command.subcommands.isEmpty || !command.options.isEmpty {
            let name = command.path.joined(separator: " ")
            let section = sections.first { $0 == name || $0.hasPrefix("\(name) ") || $0.hasPrefix("\(name)\n") }
            guard let section else {
                Issue.record("the man page has no \(name)")
                continue
            }
            for option in command.options { #expect(section.contains("\\fB\(option)\\fR"), "\(name) \(option)") }
            for argument in command.arguments {
                #expect(section.contains("\\fI\(argument)\\fR"), "\(name) \(argument)")
            }
        }
    }

    @Test func theDemonstrationHasAPageOfItsOwn() async throws {
        let made = try await Scripts.start("make-manual", ["command", Daemon.demo]).end()
        #expect(made.code == 0, "\(made.errors)")
        for text in [#".SS sealpost\-demo simulate "#, #"\fB\-\-fault\fR"#] { #expect(made.output.contains(text)) }
    }

    @Test(arguments: ["bash", "zsh"]) func bashAndZshCompleteAllCommandsAndOptions(shell: String) async throws {
        let script = try await Daemon.run(["--generate-completion-script", shell], in: self.folder).output
        for command in self.commands {
            let name = "_" + command.path.joined(separator: "_")
            guard let start = script.range(of: "\n\(name)() {\n") else {
                Issue.record("\(shell) has no \(name)")
                continue
            }
            let body = script[start.upperBound...].components(separatedBy: "\n}\n")[0]
            for option in command.options + command.subcommands { #expect(body.contains(option), "\(name) \(option)") }
        }
    }

    @Test func fishCompletesAllCommandsAndOptions() async throws {
        let script = try await Daemon.run(["--generate-completion-script", "fish"], in: self.folder).output
        let lines = script.split(separator: "\n").filter { $0.hasPrefix("complete ") }
        for command in self.commands {
            let own = lines.filter { $0.contains("\"\(command.path.joined(separator: " "))\"") }
            for option in command.options {
                #expect(own.contains { $0.contains(" -l '\(option.dropFirst(2))'") }, "\(command.path) \(option)")
            }
            for name in command.subcommands {
                #expect(own.contains { $0.contains(" -fa '\(name)'") }, "\(command.path) \(name)")
            }
        }
    }
}
