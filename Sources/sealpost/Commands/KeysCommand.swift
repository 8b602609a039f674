import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushServer

struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Manage the data keys.",
        discussion: """
            \(localDiscussion) Its audit then notes who has changed the keyring. No key is ever printed. A changed keyring is read \
            again at `reload` or SIGHUP.
            """,
        subcommands: [List.self, Rotate.self, Reload.self, Remove.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "List the data keys; the first one encrypts. With PostgreSQL, also lists the day keys.",
            discussion:
                "Exits with 78 if a key in use or the file of day keys is missing or does not match the database."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                let daemon = try await Administration(of: configuration)
                if daemon == nil { try configuration.refuseForeignFiles() }
                let report =
                    try await daemon?.result("GET", LocalPaths.keyring)
                    ?? LocalKeyring(configuration: configuration).list()
                var list = self.output.list(["KEY", "TASK", "USE"])
                for key in report.elements("Keys") {
                    let task = Self.encrypts(key) ? "encrypts" : "decrypts"
                    let cells = ["\(key["Key"]?.integer ?? 0)", task, Self.use(of: key)]
                    list.add(key, cells: cells, line: cells.joined(separator: "  "))
                }
                list.end()
                self.showDayKeys(report)
                if let fault = report["Fault"]?.text { throw ConfigurationError(fault) }
            }
        }

        private static func encrypts(_ key: JSONValue) -> Bool { key.field("Task") == "seals" }

        private static func use(of key: JSONValue) -> String {
            if let since = key["UsedSince"]?.text?.prefix(10) {
                return "in use since \(since), \((key["Seals"]?.integer ?? 0).counted("value")) encrypted"
            }
            guard Self.encrypts(key) else { return "not in use" }
            let servers = key.texts("LackedBy")
            return servers.isEmpty
                ? "not yet in use; run sealpost keys reload"
                : "not yet in use, as it is missing on \(servers.joined(separator: " and "))"
        }

        /// Prints whether payloads are encrypted with day keys. For each server's file of day
        /// keys, prints the first day whose payloads can still be decrypted with the file.
        private func showDayKeys(_ report: JSONValue) {
            guard case .bool(let isSealing)? = report["SealsDays"] else { return }
            let task = isSealing ? "encrypt payloads" : "encrypt nothing while a server of an older version is running"
            if !self.output.json { say("day keys  \(task)") }
            for holder in report.elements("DayKeys") {
                let first = holder["From"]?.text.map { "from \($0) on" } ?? "missing"
                let told = holder["ToldAt"]?.text.map { "reported at \($0)" } ?? "this machine's file"
                self.output.show(holder, "\(holder.field("DayKeys"))  \(first)  \(told)")
            }
        }
    }

    struct Rotate: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "rotate",
            abstract: "Create a data key; it encrypts after the next `reload`, SIGHUP or start.",
            discussion: "Back up the keyring afterwards, before `reload`: only the new key decrypts what it encrypts."
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var change: KeyringChange
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                let daemon = try await self.change.daemon(of: configuration)
                let result =
                    try await daemon?.result("POST", LocalPaths.keyring)
                    ?? LocalKeyring(configuration: configuration).rotate()
                self.output.show(
                    result,
                    "key \(result["Key"]?.integer ?? 0) added to \(result.field("File")); back it up, then run sealpost keys reload"
                )
            }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Remove an unused key from the keyring.",
            discussion: """
                Refused as long as values need the key. Backups that are encrypted with the key become unreadable.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var change: KeyringChange
        @OptionGroup var output: OutputOptions

        @Argument(help: "The number of the key.")
        var number: UInt32

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                let daemon = try await self.change.daemon(of: configuration)
                let result =
                    try await daemon?.result("DELETE", "\(LocalPaths.keyring)/\(self.number)")
                    ?? LocalKeyring(configuration: configuration).remove(self.number)
                self.output.show(result, "key \(self.number) removed from \(result.field("File"))")
            }
        }
    }
}

/// The option that makes this process, in place of the server, change the keyring's file.
struct KeyringChange: ParsableArguments {
    @Flag(
        help: """
            Do not ask the server: change the file in this process, where the server may not write. No audit notes it then.
            """
    )
    var direct = false

    /// The daemon that changes the keyring's file; `nil` if the command itself must change it.
    ///
    /// Throws `AdminSocketError` if the daemon does not answer, and `CommandFailure` if the files
    /// belong to another user.
    fileprivate func daemon(of configuration: Configuration) async throws -> Administration? {
        if !self.direct, let daemon = try await Administration(of: configuration) { return daemon }
        try configuration.refuseForeignFiles()
        return nil
    }
}
