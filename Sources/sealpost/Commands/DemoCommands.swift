import ArgumentParser
import Foundation
import Glibc
import PushApplication

struct Demo: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Run a demonstration on this machine: one payload for three phones, and what each party sees of it.",
        discussion: DemoProgram.discussion
    )

    func run() async throws {
        try await reportingErrors { try DemoProgram.takeOver(with: ["demo"]) }
    }
}

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run simulators of APNs, FCM and WNS, for development and tests.",
        discussion: DemoProgram.discussion
    )

    @Argument(parsing: .captureForPassthrough, help: "The options: see sealpost simulate --help.")
    var options: [String] = []

    func run() async throws {
        try await reportingErrors { try DemoProgram.takeOver(with: ["simulate"] + self.options) }
    }
}

/// The executable `sealpost-demo`, which contains the simulators and the demonstration. It is
/// separate, so that the daemon contains no HTTP/2 server.
enum DemoProgram {
    static let discussion = "Runs sealpost-demo, an executable in the same folder."

    /// Replaces this process by `sealpost-demo`, which is next to the executable of this process.
    /// Throws `CommandFailure` if that is not possible.
    static func takeOver(with arguments: [String]) throws(CommandFailure) -> Never {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let path = own.deletingLastPathComponent().appending(path: "sealpost-demo").path
        var words = ([path] + arguments).map { strdup($0) }
        words.append(nil)
        execv(path, words)
        let reason = String(cString: strerror(errno))
        throw CommandFailure("\(path) cannot be run: \(reason); install it, or build it with make demo")
    }
}
