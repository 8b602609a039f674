import ArgumentParser
import Foundation
import Glibc
import PushAPI
import PushApplication
import PushCore
import PushPostgreSQL
import PushSQLite
import PushStore

struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Move the database from its file to PostgreSQL, while the server is stopped.",
        discussion: """
            Moves all rows without re-encryption; clients notice nothing. Afterwards the command compares both databases row \
            by row and marks the file as moved; from then on the server refuses the file. If the command is interrupted, run it \
            again: it starts over. Keep a backup until you trust the result.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @OptionGroup var output: OutputOptions

    @Option(
        help: "The address of an empty database, postgres://…; afterwards set `database` in the configuration to it."
    )
    var to: String

    func run() async throws {
        try await reportingErrors(json: self.output.json, using: self.options.file) {
            let configuration = try self.options.load()
            let file = try configuration.databaseFile(insteadUse: "pg_dump and pg_restore")
            try configuration.refuseForeignFiles()
            guard let place = PostgreSQLPlace(self.to) else {
                throw CommandFailure("--to must be the address of a database that begins with postgres://")
            }
            if let fault = place.fault { throw ConfigurationError("--to: \(fault)") }
            try configuration.refuseMissingStore()
            let keyring = try KeyringFile(configuration.keyring).load()
            let now = configuration.makeClock().now()
            do {
                let count = try await file.asMoveSource(keyring) { source in
                    let report = MoveReport(self.output, count: source.count)
                    defer { report.end() }
                    return try await place.asMoveTarget { target in
                        try await Move(from: source, to: target, report: report.show).run(now: now)
                    }
                }
                self.output.show(
                    .object([
                        .init("From", .string("\(file)")), .init("To", .string("\(place)")),
                        .init("Rows", .number(count)),
                    ]),
                    "\(file) moved to \(place), \(count.counted("row")): set `database` to that address, and start the server"
                )
            } catch let failure as MoveFailure {
                throw CommandFailure(failure.description)
            }
        }
    }
}

/// Shows the progress of a move on standard error: it prints lines, and on a terminal also a bar
/// for each table.
private final class MoveReport {
    /// The number of rows between two lines about the same table, if no bar is shown.
    private static let step = 100_000

    private let output: OutputOptions
    private let bar = ProgressBar()
    /// How many rows a table has.
    private let count: (String) throws -> Int
    private var counts: [String: Int] = [:]
    private var shown = 0
    private var wasCleared = false
    /// The table that is being compared.
    private var compared: String?

    init(_ output: OutputOptions, count: @escaping (String) throws -> Int) {
        self.output = output
        self.count = count
    }

    /// Shows a step of the move. Throws the errors of counting rows.
    func show(_ progress: MoveProgress) throws {
        switch progress {
        case .cleared:
            if !self.wasCleared { self.say("deleting the rows of an interrupted move") }
            self.wasCleared = true
        case .began(let table):
            self.shown = 0
            // Counting reads the whole table, so the rows are counted only for the bar.
            if ProgressBar.isPossible { self.bar.begin(table, total: try self.count(table), unit: .rows) }
        case .moved(let table, let rows): self.record(rows, "\(table): \(rows.counted("row")) so far")
        case .ended(let table, let rows):
            self.bar.end()
            if rows > 0 { self.say("\(table): \(rows.counted("row")) moved") }
            self.counts[table] = rows
            self.shown = 0
        case .compared(let table, let rows):
            if table != self.compared {
                (self.compared, self.shown) = (table, 0)
                self.bar.begin("comparing \(table)", total: self.counts[table, default: 0], unit: .rows)
            }
            self.record(rows, "\(table): \(rows.counted("row")) compared")
        case .verified: self.say("all rows are there, and the audit is unchanged")
        case .marked: self.say("the file is marked as moved")
        }
    }

    /// Removes the bar.
    func end() {
        self.bar.end()
    }

    private func record(_ rows: Int, _ line: String) {
        self.bar.update(rows)
        guard !ProgressBar.isPossible, rows - self.shown >= Self.step else { return }
        self.shown = rows
        self.say(line)
    }

    /// Prints a line. A failure to print progress is ignored.
    private func say(_ line: String) {
        self.bar.end()
        if self.output.json { return }
        printEscaped(line, to: STDERR_FILENO)
    }
}
