import ArgumentParser
import PushApplication

/// The command line of the demonstration and the simulators; `sealpost demo` and `sealpost
/// simulate` run it, too.
@main
struct SealpostDemo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sealpost-demo",
        abstract: "Simulators of push providers, and a demonstration of Sealpost with them.",
        version: Version.text,
        subcommands: [Demo.self, Simulate.self],
        defaultSubcommand: Demo.self
    )

    static func main() async {
        await self.runProgram()
    }
}
