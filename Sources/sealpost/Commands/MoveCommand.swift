import ArgumentParser
import Foundation
import Glibc
import PushPostgreSQL
import PushSQLite
import PushStore

struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Move the database from its file to PostgreSQL, while the server is stopped.",
        discussion: """
            All of it: nothing is sealed anew, and clients notice nothing. What is there in the end is compared with the file, row \
            by row, before the file is marked as moved; from then on the server refuses the file. If it is interrupted, run it \
            again: it begins anew. Keep a backup until you trust the result.
            """
    )

    @OptionGroup var options: ConfigurationOptions

    @Option(help: "The address of an empty database: postgres://…, as `database` in the configuration has it then.")
    var to: String

    func run() async throws {
        try await reportingErrors {
            let configuration = try self.options.load()
            let file = try configuration.databaseFile(insteadUse: "pg_dump and pg_restore")
            guard let place = PostgreSQLPlace(self.to) else {
                throw CommandFailure("--to is no address: it begins with postgres://")
            }
            if let fault = place.fault { throw ConfigurationError("--to: \(fault)") }
            let keyring = try KeyringFile(configuration.keyring).load()
            do {
                let count = try await file.asMoveSource(keyring) { source in
                    let target = try place.asMoveTarget()
                    return try await Move(from: source, to: target, report: MoveReport().show).run(now: Date())
                }
                print("\(file) moved to \(place), \(count) rows: set `database` to that address, and start the server")
            } catch let failure as MoveFailure {
                throw CommandFailure(failure.description)
            }
        }
    }
}

/// The lines on standard error that tell how far a move has come.
private final class MoveReport {
    /// The rows between two lines of a table.
    private static let step = 100_000

    private var shown = 0
    private var wasCleared = false

    func show(_ progress: MoveProgress) {
        switch progress {
        case .cleared:
            if !self.wasCleared { self.say("deleting what a move that was interrupted has left") }
            self.wasCleared = true
        case .began: self.shown = 0
        case .moved(let table, let rows):
            guard rows - self.shown >= Self.step else { return }
            self.shown = rows
            self.say("\(table): \(rows) rows so far")
        case .ended(let table, let rows):
            if rows > 0 { self.say("\(table): \(rows) rows moved") }
            self.shown = 0
        case .compared(let table, let rows):
            if rows < self.shown { self.shown = 0 }
            guard rows - self.shown >= Self.step else { return }
            self.shown = rows
            self.say("\(table): \(rows) rows compared")
        case .verified: self.say("all rows are there, and the audit is as it was written")
        case .marked: self.say("the file is marked as moved")
        }
    }

    /// Progress that cannot be shown does not matter.
    private func say(_ line: String) {
        _ = LogFile.write(Array((line + "\n").utf8), to: STDERR_FILENO)
    }
}
