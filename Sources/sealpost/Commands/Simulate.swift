import ArgumentParser
import Foundation
import PushSimulators

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run simulators of APNs, FCM and WNS, for developing against.",
        discussion: "Writes their credentials and a configuration for `serve` into a folder, and prints what arrives."
    )

    @Option(help: "The folder for credentials and configuration.")
    var folder = "var/simulators"

    func run() async throws {
        try await reportingErrors {
            let providers = try Providers(folder: self.folder) { name, push in
                say("\(name) \(push.verdict.status): \(String(decoding: push.request.body, as: UTF8.self))")
            }
            let file = "\(self.folder)/sealpost.yaml"
            try providers.yaml.write(toFile: file, atomically: true, encoding: .utf8)
            say("Ready. Start the server with: sealpost serve --config \(file)")
            say("A channel for a Windows phone: \(providers.wns.makeChannel())")
            try await providers.whileRunning { try await Task.sleep(for: .seconds(86_400 * 365)) }
        }
    }
}
