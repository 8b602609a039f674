import ArgumentParser
import Foundation
import PushAPI
import PushApplication

struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the queues, the paused lanes with the provider's words, the last hour, and the servers.",
        discussion: """
            \(localDiscussion)

            Without a server it shows what the database has: queues and sums, without pauses and the last hour.
            """
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            try await withAdministration(try self.options.load()) { administration in
                let status = try await administration.ask("GET", Paths.status) ?? .null
                let report = StatusReport(status, isRunning: administration.isDaemon)
                self.output.show(report.json, report.lines)
            }
        }
    }
}

/// Prints the answer of `GET /api/status`, for people or for scripts.
struct StatusReport {
    private let status: JSONValue
    private let isRunning: Bool

    init(_ status: JSONValue, isRunning: Bool) {
        self.status = status
        self.isRunning = isRunning
    }

    /// The answer, with `Running` before its members.
    var json: JSONValue {
        guard case .object(let members) = self.status else { return self.status }
        return .object([.init("Running", .bool(self.isRunning))] + members)
    }

    var lines: [String] {
        [self.server] + self.status.texts("Troubles").map { "trouble: \($0)" } + [self.queue]
            + (self.isRunning ? [self.lastHour] : []) + self.status.elements("Lanes").map(self.lane)
            + self.nodes.map(Self.node)
            + self.status.elements("Credentials").map { "\($0.field("Name")) expires at \($0.field("ExpiresAt"))" }
    }

    private var server: String {
        guard self.isRunning else { return "no server is running here; the database has:" }
        return "server \(self.status.field("Version")) is running since \(self.status.field("StartedAt"))"
    }

    private var queue: String {
        let pending = self.status.elements("Lanes").reduce(0) { $0 + Self.number($1, "Pending") }
        let scheduled = self.status["Scheduled"] ?? .null
        let next = scheduled["FirstDue"]?.text.map { ", the next for \($0)" } ?? ""
        let count = Self.number(scheduled, "Count")
        return
            "queue: \(pending.counted("push", "pushes")) pending, \(count.counted("notification")) scheduled\(next)"
    }

    /// The server's counts of the last hour in which it ran, and the time that they cover. The
    /// answer has counts for each step of the hour; this text has their sums.
    private var lastHour: String {
        let history = self.status["History"] ?? .null
        let steps = history.elements("Posted")
        guard
            let first = steps.firstIndex(where: { $0 != .null }), let end = Self.time(history, "End")
        else { return "last hour: nothing is counted yet; the first counts come half a minute after the start" }
        // If the server started during the first step with counts, the counts begin when it
        // started.
        let step = end - Double(steps.count - first) * Double(Self.number(history, "Seconds"))
        let start = max(step, Self.time(self.status, "StartedAt") ?? step)
        func sum(_ name: String) -> Int { history.elements(name).reduce(0) { $0 + ($1.integer ?? 0) } }
        return
            "from \(start.rfc3339) to \(end.rfc3339): \(sum("Posted").counted("notification")) posted and \(sum("Fetched")) fetched here, \(sum("Accepted").counted("push", "pushes")) accepted, \(sum("Failed")) failed"
    }

    /// The text that says when a paused lane (queue of pushes to one provider) sends again. If its
    /// pause has ended, it sends again with the next push that is due.
    private func nextAttempt(of lane: JSONValue, _ pause: JSONValue) -> String {
        if let until = Self.time(pause, "Until"), let now = Self.time(self.status, "Now"), until <= now {
            return Self.number(lane, "OverdueSeconds") > 0 ? "is due now" : "comes with the next push that is due"
        }
        return "is at \(pause.field("Until"))"
    }

    private func lane(_ lane: JSONValue) -> String {
        let pending = Self.number(lane, "Pending")
        var parts = ["\(pending) pending"]
        let (oldest, overdue) = (Self.number(lane, "OldestSeconds"), Self.number(lane, "OverdueSeconds"))
        if oldest > 0 { parts.append("the oldest for \(oldest) s") }
        if overdue > 0 { parts.append("overdue by \(overdue) s") }
        let sums = ["Accepted", "Failed", "Expired", "Cancelled"].map { name in
            "\(Self.number(lane, name)) \(name.lowercased())"
        }
        var text = "lane \(lane.field("Name")): \((parts + sums).joined(separator: ", "))"
        if lane["HasSender"] == .bool(false), pending > 0 { text += "; it has no sender, so its pushes wait" }
        if let pause = lane["Pause"], pause != .null {
            text += "; paused since \(pause.field("Since")), \(pause.field("Cause")): \(pause.field("Reason"))"
            text += "; the next attempt \(self.nextAttempt(of: lane, pause))"
        }
        return text
    }

    /// The servers of the database, without this process if it is only a command.
    private var nodes: [JSONValue] {
        self.status.elements("Nodes").filter { self.isRunning || $0["IsThis"] != .bool(true) }
    }

    private static func node(_ node: JSONValue) -> String {
        let here = node["IsThis"] == .bool(true) ? ", this one" : ""
        return
            "server \(node.field("Name")): \(node.field("State"))\(here), \(node.field("Version")), last heard at \(node.field("HeardAt"))"
    }

    /// The time in a member; `nil` if a newer version of the server writes times in another form.
    private static func time(_ value: JSONValue, _ name: String) -> Date? {
        value[name]?.text.flatMap(Date.init(rfc3339:))
    }

    private static func number(_ value: JSONValue, _ name: String) -> Int { value[name]?.integer ?? 0 }
}
