import Foundation
import PushClient
import PushSimulators
import PushTesting
import Testing

@testable import sealpost_demo

@Suite(.timeLimit(.minutes(5))) struct SimulateTests {
    @Test func aFaultAppliesToAllProvidersUnlessItNamesOne() throws {
        let options = try ["every 2: reset", "apns next 1: cut", "fcm-tokens always: status 500"].map {
            try FaultOption($0)
        }
        let (reset, cut) = (FaultRule(.reset, when: [.every(2)]), FaultRule(.cut, when: [.next(1)]))
        #expect(options.rules(for: "apns") == [reset, cut])
        #expect(options.rules(for: "wns") == [reset])
        #expect(options.rules(for: "fcm-tokens") == [FaultRule(.answer(status: 500))])
        #expect(options.rules(for: "wns-tokens") == [])
    }

    @Test(arguments: [
        (["--only", "apns,gcm"], "--only: \"gcm\" is not one of apns, fcm, wns"),
        (["--fault", "apns sometimes: reset"], "--fault: \"sometimes\" is no condition"),
    ])
    func aWrongOptionIsNamed(arguments: [String], expected: String) async throws {
        let folder = try TemporaryFolder()
        let ended = try await ChildProcess(Daemon.executable, ["simulate"] + arguments, in: folder.path).end()
        #expect(ended.code == 1)
        #expect(ended.errors.contains(expected))
    }

    @Test func theOptionsArePassedToSealpostDemo() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.copyItem(atPath: Daemon.executable, toPath: folder.file("sealpost"))
        let arguments = ["simulate", "--help", "--fault", "a b"]
        let missing = try await ChildProcess(folder.file("sealpost"), arguments, in: folder.path).end()
        #expect(missing.code == 1)
        let reason = "sealpost-demo cannot be run: No such file or directory; install it, or build it with make demo\n"
        #expect(missing.errors.hasSuffix(reason), "\(missing.errors)")
        let script = Data("#!/bin/sh\nprintf '%s\\n' \"$@\"\n".utf8)
        let (file, mode) = (folder.file("sealpost-demo"), [FileAttributeKey.posixPermissions: 0o700])
        try #require(FileManager.default.createFile(atPath: file, contents: script, attributes: mode))
        let passed = try await ChildProcess(folder.file("sealpost"), arguments, in: folder.path).end()
        #expect(passed.output == "simulate\n--help\n--fault\na b\n", "\(passed.errors)")
    }
}

extension SimulateTests {
    /// The command prints a configuration with which the server can start. It also logs the pushes
    /// that arrive.
    @Test func theSimulatorsLogTheOutcomeOfEachPush() async throws {
        let folder = try TemporaryFolder()
        let simulate = try ChildProcess(
            Daemon.executable,
            ["simulate", "--only", "apns", "--folder", "sim", "--log", "log", "--fault", "next 1: status 500"],
            in: folder.path
        )
        let introduction = await simulate.output(until: "sealpost serve")
        #expect(introduction.contains("senders:\n  apns: {type: apns, keyFile: sim/AuthKey.p8"))
        #expect(!introduction.contains("fcm"))
        try await Daemon.makeAlice(in: folder)
        let daemon = try await Daemon(in: folder, arguments: ["--config", "sim/sealpost.yaml"])
        let client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
        _ = try await client.register(platform: "apns", handle: "abcd1234")
        _ = try await client.send("hello")
        let log = URL(fileURLWithPath: folder.file("log"))
        // The command writes its log every second.
        try await eventually { try !Data(contentsOf: log).isEmpty }
        #expect(await daemon.terminate() == 0)
        simulate.signal(SIGTERM)
        #expect(await simulate.end().code == 0)
        let line = try String(contentsOf: log, encoding: .utf8).split(separator: "\n").first
        #expect(line?.wholeMatch(of: /\d{13} apns [0-9a-f-]{36} 500 abcd1234/) != nil, "\(line ?? "")")
    }
}
