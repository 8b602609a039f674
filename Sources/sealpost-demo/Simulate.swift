import ArgumentParser
import Foundation
import PushApplication
import PushSimulators
import UnixSignals

struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run simulators of APNs, FCM and WNS, for development and tests.",
        discussion: """
            Writes their credentials and a configuration for `serve` into a folder, and prints it and what arrives. The \
            credentials are new at each start: restart `serve` afterwards. Ends with SIGTERM or SIGINT. Faults are described in docs/providers.md.
            """
    )

    @Option(help: "The directory for credentials and configuration.")
    var folder = "var/simulators"

    @Option(help: "The simulators to run, separated by commas.")
    var only = Providers.allNames.joined(separator: ",")

    @Option(help: "The port of the first simulator; the others use the following ports. Default: free ports.")
    var port: UInt16?

    @Option(
        help: ArgumentHelp(
            "A fault rule, such as \"every 10: status 503 retry-after 5\"; may be repeated.",
            discussion:
                "A rule may begin with the endpoint that it applies to: apns, fcm, wns, fcm-tokens, wns-tokens."
        )
    )
    var fault: [String] = []

    @Option(help: "The file for a line about each push, instead of standard output.")
    var log: String?

    @Option(
        help: ArgumentHelp(
            "Also simulate Apple's sandbox: device tokens that begin with this text belong to the sandbox only.",
            discussion: "All other tokens belong to production only, and the configuration has the sandbox enabled."
        )
    )
    var sandbox: String?

    @Option(help: "APNs device tokens that begin with this text belong to another app.")
    var foreign: String?

    @Option(help: "The number of WNS channels to open. The file `channels` of the directory lists them.")
    var channels = 1

    func run() async throws {
        try await reportingErrors {
            let names = self.only.split(separator: ",").map(String.init)
            for name in names where !Providers.allNames.contains(name) {
                throw CommandFailure("--only: \"\(name)\" is not one of \(Providers.allNames.joined(separator: ", "))")
            }
            let faults = try self.readFaults()
            let log = try self.log.map { try PushLogFile(path: $0) }
            let providers = try Providers(folder: self.folder, names: names, hasSandbox: self.sandbox != nil) { name in
                self.options(for: name, faults: faults, log: log)
            }
            self.issueDevices(of: providers.apns)
            providers.fcm.tokenRequests.setFaults(faults.rules(for: "fcm-tokens"))
            providers.wns.tokenRequests.setFaults(faults.rules(for: "wns-tokens"))
            // The signals are trapped before the program prints the line that announces the
            // simulators. A script may send a signal as soon as it reads this line, and an
            // untrapped signal would end the process at once.
            let signals = await UnixSignalsSequence(trapping: [.sigterm, .sigint])
            try self.introduce(providers)
            try await providers.whileRunning {
                await withTaskGroup { group in
                    if let log { group.addTask { await log.run() } }
                    for await _ in signals { break }
                    group.cancelAll()
                }
            }
        }
    }

    private func issueDevices(of apns: APNsSimulator) {
        let topic = apns.credentials.topic
        if let foreign {
            apns.devices.issue(beginningWith: foreign, in: .production, topic: "another app than " + topic)
        }
        guard let sandbox else { return }
        apns.devices.issue(beginningWith: sandbox, in: .sandbox, topic: topic)
        apns.devices.issue(beginningWith: "", in: .production, topic: topic)
    }

    private func readFaults() throws -> [FaultOption] {
        do {
            return try self.fault.map { try FaultOption($0) }
        } catch let error as FaultSyntaxError {
            throw CommandFailure("--fault: \(error)")
        }
    }

    private func options(for name: String, faults: [FaultOption], log: PushLogFile?) -> SimulatorOptions {
        var options = SimulatorOptions()
        let index = UInt16((Providers.allNames + ["apns-sandbox"]).firstIndex(of: name) ?? 0)
        options.port = self.port.map { $0 &+ index } ?? 0
        options.faults = faults.rules(for: name)
        options.countsPushes = log != nil
        options.onPush = { push in
            if let log { return log.append(push, platform: name) }
            let body = String(decoding: push.request.body, as: UTF8.self)
            say("\(name) \(push.verdict.description): \(body)")
        }
        return options
    }

    private func introduce(_ providers: Providers) throws {
        let file = try providers.writeConfiguration()
        let channels = (0..<max(1, self.channels)).map { _ in providers.wns.makeChannel() }
        try (channels.joined(separator: "\n") + "\n")
            .write(toFile: "\(self.folder)/channels", atomically: true, encoding: .utf8)
        sayLines(providers.yaml)
        say("Ready. The configuration above is in \(file); start the server with: sealpost serve --config \(file)")
        if self.only.contains("wns") { say("A channel for a Windows phone: \(channels[0])") }
    }
}
