import ArgumentParser

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell the whole story on this machine: three phones, one secret, and who got to see what."
    )

    func run() async throws {
        try await reportingErrors { try await Story().tell() }
    }
}
