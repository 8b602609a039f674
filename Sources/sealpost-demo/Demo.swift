import ArgumentParser
import PushApplication

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run a demonstration on this machine: one payload for three phones, and what each party sees of it."
    )

    func run() async throws {
        try await reportingErrors { try await Story().tell() }
    }
}
