import Foundation
import PushTesting
import Synchronization
import Testing

/// The real executable in a process of its own.
final class Daemon: Sendable {
    /// Beside the test bundle, where the build puts both.
    static let executable = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "sealpost")

    struct Ended: Sendable {
        let code: Int32
        let output: String
        let errors: String
    }

    private let process: Mutex<Process>
    /// Kept open: the daemon must find somebody to tell.
    private let errors: Pipe
    let port: Int

    /// Starts `serve` and waits until it says where it serves.
    init(in folder: TemporaryFolder, arguments: [String] = [], environment: [String: String] = [:]) async throws {
        let process = Process()
        process.executableURL = Self.executable
        process.arguments = ["serve"] + arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.environment = environment.merging(["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"]) { own, _ in own }
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        var line = ""
        while !line.contains("serving"), case let bytes = errors.fileHandleForReading.availableData, !bytes.isEmpty {
            line += String(decoding: bytes, as: UTF8.self)
        }
        self.errors = errors
        self.port = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        self.process = Mutex(process)
    }

    var server: URL {
        get throws { try #require(URL(string: "http://127.0.0.1:\(self.port)")) }
    }

    /// Ends it as a power cut would end it, as far as the process goes.
    func kill() {
        self.process.withLock { process in
            Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    /// Asks it to end, and waits for that; its exit code.
    func terminate() -> Int32 {
        self.process.withLock { process in
            process.terminate()
            process.waitUntilExit()
            return process.terminationStatus
        }
    }

    /// Runs a command to its end.
    static func run(
        _ arguments: [String],
        executable: URL = Daemon.executable,
        in folder: TemporaryFolder,
        input: String = "",
        environment: [String: String] = [:]
    ) throws -> Ended {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.environment = environment
        let (inputs, outputs, errors) = (Pipe(), Pipe(), Pipe())
        process.standardInput = inputs
        process.standardOutput = outputs
        process.standardError = errors
        try process.run()
        try inputs.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try inputs.fileHandleForWriting.close()
        let output = try outputs.fileHandleForReading.readToEnd() ?? Data()
        let error = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Ended(
            code: process.terminationStatus,
            output: String(decoding: output, as: UTF8.self),
            errors: String(decoding: error, as: UTF8.self)
        )
    }
}
