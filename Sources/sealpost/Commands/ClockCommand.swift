import ArgumentParser
import PushAPI
import PushApplication
import PushServer

/// Commands about the machine's clock.
struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock",
        abstract: "Accept the machine's clock after it jumped ahead.",
        subcommands: [Accept.self]
    )

    struct Accept: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "accept",
            abstract: "Accept the machine's clock as it is now.",
            discussion: """
                The server rejects a clock that jumps ahead by more than an hour, or by more than a week while the machine \
                was off: data would expire early. Compare the clock with another one first. \(localDiscussion)
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let answer = try await withAdministration(self.options.load()) { administration in
                    try await administration.ask("POST", LocalPaths.clock)
                }
                let text = answer?["Accepted"]?.text.map { "data expires by the time \($0) from now on" }
                self.output.show(answer ?? .null, text ?? "the clock was accepted already")
            }
        }
    }
}
