import ArgumentParser
import Foundation
import PushCore
import PushStore

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Read the audit.",
        discussion: "A running server locks the database: use GET /api/audit instead.",
        subcommands: [List.self, Verify.self]
    )

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print entries, newest first, as tab-separated fields.",
            discussion: "number, time, action, subject, detail, actor, token (a keyed hash), client, request"
        )

        @OptionGroup var options: ConfigurationOptions

        @Option(help: "Maximum number of entries.")
        var limit = 100

        func run() async throws {
            try await reportingErrors {
                try await withStore(try self.options.load(), admitsMoved: true) { store in
                    let reader = try store.makeReader()
                    var left = self.limit
                    var before: Int64?
                    while left > 0 {
                        let page = try await reader.auditEntries(before: before, limit: min(500, left))
                        for entry in page { print(entry.line) }
                        guard let oldest = page.last else { return }
                        (before, left) = (oldest.number, left - page.count)
                    }
                }
            }
        }
    }

    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Verify that no entry was changed or removed.",
            discussion: """
                The newest entries may have been cut off all the same: compare the last number with one seen before, \
                such as sealpost_audit_entries_total.
                """
        )

        @OptionGroup var options: ConfigurationOptions

        func run() async throws {
            try await reportingErrors {
                try await withStore(try self.options.load(), admitsMoved: true) { store in
                    let reader = try store.makeReader()
                    if let fault = try await reader.auditFault() {
                        throw CommandFailure(
                            "the audit was changed: entry \(fault.number) does not match its predecessor"
                        )
                    }
                    print("audit verified up to entry \(try await reader.lastAuditNumber())")
                }
            }
        }
    }
}

extension AuditEntry {
    fileprivate var line: String {
        let fields = [
            "\(self.number)", self.at.formatted(.iso8601), self.action, self.subject, self.detail, self.actor,
            self.token,
            self.client, self.request,
        ]
        return fields.joined(separator: "\t")
    }
}
