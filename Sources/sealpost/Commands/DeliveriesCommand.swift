import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushCore
import PushServer

struct DeliveriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract:
            "Show how many pushes of a notification are in each state, such as queued, accepted, failed and fetched.",
        discussion: localDiscussion
    )

    @OptionGroup var options: ConfigurationOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The number of the notification.")
    var id: String

    @Flag(help: "Wait until every push has ended, and show the progress.")
    var wait = false

    /// The delay between two requests of a waiting command.
    private static let pause = Duration.milliseconds(500)

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            guard NotificationID(self.id) != nil else {
                throw ValidationError("\"\(self.id)\" is not the number of a notification")
            }
            let configuration = try self.options.load()
            if self.wait, configuration.databaseFile != nil {
                // Without a server nothing is sent. With PostgreSQL a server may run elsewhere.
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
                return try await self.state(by: administration, bar)
            }
            self.output.show(state.json, state.line)
        }
    }

    /// The state; with `--wait` the final state.
    private func state(by administration: Administration, _ bar: ProgressBar) async throws -> FanoutState {
        var title: String?
        while true {
            let state = try await FanoutState(self.ask(administration))
            if !self.wait || state.isOver { return state }
            if title != state.title {
                title = state.title
                bar.begin(state.title, total: state.total, unit: .pushes)
            }
            bar.update(state.ended, of: state.total)
            try await Task.sleep(for: Self.pause)
        }
    }

    private func ask(_ administration: Administration) async throws -> JSONValue {
        do {
            return try await administration.ask("GET", "\(LocalPaths.deliveries)/\(self.id)") ?? .null
        } catch let problem as Problem where problem.code == .notFound {
            throw Problem(.notFound, "there is no notification \(self.id); it may have expired or been recalled")
        }
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

    /// The pushes that are known so far.
    var total: Int { self.counts.reduce(0) { $0 + $1.count } }

    /// The pushes that are neither waiting nor being sent.
    var ended: Int {
        self.counts.filter { !["queued", "sending"].contains($0.name) }.reduce(0) { $0 + $1.count }
    }

    /// Whether it was sent, all its devices are found, and none of their pushes waits.
    var isOver: Bool { self.json["SendAt"]?.text == nil && !self.isFanningOut && self.ended == self.total }

    /// The current work, for a bar.
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
