import ArgumentParser
import Foundation
import Glibc
import PushAPI
import PushApplication
import PushCore
import PushServer

struct DeliveriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract:
            "Show how many pushes of a notification are in each state, its recipients, or all failed pushes.",
        discussion: """
            \(localDiscussion)

            With --recipients: name, time of the fetch, time of the reading, time of the dismissal, as tab-separated fields. With \
            --failed, newest first: time, notification, device, user, app, platform, attempts, reason. A failed push is listed until \
            its notification expires.
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The number of the notification; not with --failed.")
    var id: String?

    @Flag(help: "Wait until every push has ended, and show the progress.")
    var wait = false

    @Flag(help: "List the recipients with the times at which each has fetched, read and dismissed the notification.")
    var recipients = false

    @Flag(help: "List the failed pushes of all notifications, newest first.")
    var failed = false

    @Option(help: "Only pushes that have failed since then: a time as in RFC 3339, or a period such as 90m, 1h or 7d.")
    var since: String?

    @Option(help: "Only failed pushes to devices of this app.")
    var app: String?

    @Option(help: "Only failed pushes to devices of this user.")
    var user: String?

    @Option(help: "Maximum number of failed pushes.")
    var limit = 1000

    /// The delay between two requests of a command that waits for the end of the pushes.
    private static let pause = Duration.milliseconds(500)

    func validate() throws {
        guard self.failed || self.since == nil && self.app == nil && self.user == nil else {
            throw ValidationError("--since, --app and --user need --failed")
        }
        guard self.failed == (self.id == nil) else {
            throw ValidationError("give the number of a notification, or --failed")
        }
        guard [self.wait, self.recipients, self.failed].count(where: \.self) <= 1 else {
            throw ValidationError("--wait, --recipients and --failed cannot be combined")
        }
        guard self.limit > 0 else { throw ValidationError("--limit must be at least 1") }
    }

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            let configuration = try self.options.load()
            guard let id else { return try await withAdministration(configuration, self.listFailed) }
            guard NotificationID(id) != nil else {
                throw ValidationError("\"\(id)\" is not the number of a notification")
            }
            if self.recipients {
                return try await withAdministration(configuration) { try await self.listRecipients(of: id, by: $0) }
            }
            if self.wait, configuration.databaseFile != nil {
                // Without a running server, no push is sent, so the command would wait in vain.
                // This is not checked with PostgreSQL, because a server may run on another
                // machine.
                guard try await Administration(of: configuration) != nil else {
                    throw CommandFailure(
                        "no server is running, so no push would end; start the server, or leave out --wait",
                        .serverUnreachable
                    )
                }
            }
            let bar = ProgressBar()
            let state = try await withAdministration(configuration) { administration in
                defer { bar.end() }
                return try await self.state(of: id, by: administration, bar)
            }
            self.output.show(state.json, state.line)
        }
    }

    /// The state of the notification's pushes; with `--wait`, the final state.
    private func state(
        of id: String,
        by administration: Administration,
        _ bar: ProgressBar
    ) async throws -> FanoutState {
        var title: String?
        while true {
            let state = try await FanoutState(
                self.naming(id) { try await administration.ask("GET", "\(LocalPaths.deliveries)/\(id)") ?? .null }
            )
            if !self.wait || state.isOver { return state }
            if title != state.title {
                title = state.title
                bar.begin(state.title, total: state.total, unit: .pushes)
            }
            bar.update(state.ended, of: state.total)
            try await Task.sleep(for: Self.pause)
        }
    }

    /// Runs a request. If the server does not know the notification, the error names the
    /// notification.
    private func naming<Value>(_ id: String, _ ask: () async throws -> Value) async throws -> Value {
        do {
            return try await ask()
        } catch let problem as Problem where problem.code == .notFound {
            throw Problem(.notFound, "there is no notification \(id); it may have expired or been recalled")
        }
    }

    private func listRecipients(of id: String, by administration: Administration) async throws {
        var list = self.output.list(["USER", "FETCHED", "READ", "DISMISSED"])
        try await self.naming(id) {
            try await administration.list("\(LocalPaths.recipients)/\(id)", "Recipients") { recipient in
                let cells = ["User", "FetchedAt", "ReadAt", "DismissedAt"].map(recipient.field)
                list.add(recipient, cells: cells, line: cells.joined(separator: "\t"))
                return true
            }
        }
        list.end()
    }

    private func listFailed(by administration: Administration) async throws {
        var list = self.output.list(["TIME", "NOTIFICATION", "DEVICE", "USER", "APP", "PLATFORM", "ATTEMPTS", "REASON"])
        let filter = [("since", self.since), ("app", self.app), ("user", self.user)]
        let query = [("state", "failed")] + filter.compactMap { name, value in value.map { (name, $0) } }
        var left = self.limit
        try await administration.list(Paths.deliveries, "Deliveries", query: query) { push in
            let cells = Self.cells(push)
            list.add(push, cells: cells, line: cells.joined(separator: "\t"))
            left -= 1
            return left > 0
        }
        list.end()
        // This text goes to standard error, so that standard output has only the list of pushes.
        if left == self.limit, !self.output.json { printEscaped("no failed pushes", to: STDERR_FILENO) }
    }

    private static func cells(_ push: JSONValue) -> [String] {
        func number(_ name: String) -> String { push[name]?.integer.map { "\($0)" } ?? "" }
        let names = ["Device", "User", "App", "Platform"].map(push.field)
        return [push.field("UpdatedAt"), number("Notification")] + names + [number("Attempts"), push.field("Reason")]
    }
}

/// The progress of a notification's pushes, from the server's answer.
struct FanoutState {
    let json: JSONValue
    private let counts: [(name: String, count: Int)]

    init(_ json: JSONValue) {
        self.json = json
        guard case .object(let members)? = json["Counts"] else {
            self.counts = []
            return
        }
        self.counts = members.map { ($0.name, $0.value.integer ?? 0) }
    }

    private var isFanningOut: Bool { self.json["FanningOut"] == .bool(true) }

    /// The number of pushes that are known so far.
    var total: Int { self.counts.reduce(0) { $0 + $1.count } }

    /// The number of pushes that neither wait nor are being sent.
    var ended: Int {
        self.counts.filter { !["queued", "sending"].contains($0.name) }.reduce(0) { $0 + $1.count }
    }

    /// Whether the notification was sent, the server has found all its devices, and no push to
    /// them waits or is being sent.
    var isOver: Bool { self.json["SendAt"]?.text == nil && !self.isFanningOut && self.ended == self.total }

    /// The title of the progress bar: what the server does now.
    var title: String {
        if self.json["SendAt"]?.text != nil { return "scheduled" }
        return self.isFanningOut ? "fanning out" : "sending"
    }

    var line: String {
        let counts = self.counts.filter { $0.count > 0 }.map { "\($0.count) \($0.name)" }
        let words =
            self.json["SendAt"]?.text.map { ["scheduled for \($0)"] }
            ?? (counts.isEmpty ? ["no pushes"] : counts)
            + (self.isFanningOut ? ["more devices are being looked up"] : [])
        return "notification \(self.json["Id"]?.integer ?? 0): \(words.joined(separator: ", "))"
    }
}
