import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushServer

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show and verify the audit: who did what, and when.",
        discussion: localDiscussion,
        subcommands: [List.self, Verify.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list",
            abstract: "Print entries, newest first, as tab-separated fields.",
            discussion: """
                number, time, action, subject, detail, actor, token (a keyed hash), client, request

                With a filter it looks through the audit from the newest entry on, until it has found as many as --limit.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        @Option(help: "Maximum number of entries.")
        var limit = 100

        @Option(help: "Only entries with all of these words, such as a name, a number, an address or a request's id.")
        var words: String?

        @Option(help: "Only entries of this action, such as user.add, or of this kind of actions, such as user.")
        var action: String?

        @Option(help: "Only entries of which this user is the actor or the subject, also if the user was deleted.")
        var user: String?

        @Option(help: "Only entries since then: a time as in RFC 3339, or a period such as 90m, 1h or 7d.")
        var since: String?

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                guard self.limit > 0 else { throw ValidationError("--limit must be at least 1") }
                try await withAdministration(try self.options.load(), admitsMoved: true) { administration in
                    var left = self.limit
                    var list = self.output.list(["NUMBER", "TIME", "ACTION", "SUBJECT", "ACTOR", "CLIENT", "DETAIL"])
                    let filter = [
                        ("words", self.words), ("action", self.action), ("user", self.user), ("since", self.since),
                    ]
                    let query = filter.compactMap { name, value in value.map { (name, $0) } }
                    try await administration.list(Paths.audit, "Entries", query: query) { entry in
                        list.add(entry, cells: Self.cells(entry), line: Self.line(entry))
                        left -= 1
                        return left > 0
                    }
                    list.end()
                }
            }
        }

        private static func cells(_ entry: JSONValue) -> [String] {
            let number = entry["Number"]?.integer.map { "\($0)" } ?? ""
            return [number] + ["At", "Action", "Subject", "Actor", "Client", "Detail"].map(entry.field)
        }

        private static func line(_ entry: JSONValue) -> String {
            let number = entry["Number"]?.integer.map { "\($0)" } ?? ""
            let fields = ["At", "Action", "Subject", "Detail", "Actor", "Token", "Client", "Request"]
            return ([number] + fields.map(entry.field)).joined(separator: "\t")
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Verify that no entry was changed or removed.",
            discussion: """
                The newest entries may have been cut off all the same: compare the last number with one seen before, \
                such as sealpost_audit_entries_total.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                try await withAdministration(try self.options.load(), admitsMoved: true) { administration in
                    let result = try await administration.lines("GET", LocalPaths.audit, into: JSONValue.null) {
                        $0 = try JSONValue(reading: $1)
                    }
                    if let fault = result["Fault"]?.integer {
                        throw CommandFailure(
                            "the audit was changed: entry \(fault) does not match its predecessor",
                            .auditChanged
                        )
                    }
                    self.output.show(result, "audit verified up to entry \(result["Verified"]?.integer ?? 0)")
                }
            }
        }
    }
}
