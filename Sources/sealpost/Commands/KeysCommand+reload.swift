import ArgumentParser
import Foundation
import PushAPI
import PushApplication
import PushServer
import Synchronization

extension KeysCommand {
    struct Reload: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reload",
            abstract: "Start to encrypt with the keyring's first key, and re-encrypt all values of other keys.",
            discussion: """
                Asks the server, if it is running, and waits until all values are re-encrypted; the server keeps serving. If the command is \
                interrupted, the server completes the work. With PostgreSQL, copy the keyring to all servers first, and run this on each, \
                in any order: the servers encrypt with the new key once all have it.
                """
        )

        @OptionGroup var options: ConfigurationOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            try await reportingErrors(json: self.output.json, using: self.options.file) {
                let configuration = try self.options.load()
                let watch = RewrapWatch()
                let last = try await withAdministration(configuration) { administration in
                    defer { watch.end() }
                    let target = "\(LocalPaths.keys)?counts=\(ProgressBar.isPossible)"
                    return try await administration.lines("POST", target, into: JSONValue.null) {
                        $0 = try JSONValue(reading: $1)
                        watch.record($0)
                    }
                }
                try self.report(last, configuration)
            }
        }

        private func report(_ result: JSONValue, _ configuration: Configuration) throws {
            if let reason = result["Refused"]?.text {
                throw ConfigurationError("the old keyring stays in use: \(reason)")
            }
            guard let seals = result["Seals"]?.integer, let renewed = result["Renewed"]?.integer else {
                throw CommandFailure(
                    "the server's answer ended early; the re-encryption continues: see the server's log"
                )
            }
            if let count = result["Unreadable"]?.integer, count > 0 {
                throw CommandFailure("\(count.counted("value")) cannot be decrypted; keep their key in the keyring")
            }
            if let key = result["Waits"]?["Key"]?.integer {
                let servers = result["Waits"]?.texts("Servers") ?? []
                let lacking = servers.isEmpty ? "" : ", which is missing on \(servers.joined(separator: " and "))"
                return self.output.show(
                    result,
                    """
                    key \(seals) encrypts until all servers have key \(key)\(lacking): copy the keyring to each and run sealpost keys \
                    reload there
                    """
                )
            }
            let unused = result.numbers("Unused").map { "key \($0)" }.joined(separator: " and ")
            let end = unused.isEmpty ? "" : "; \(unused) no longer in use"
            self.output.show(result, "key \(seals) encrypts; \(renewed.counted("value")) re-encrypted\(end)")
        }
    }
}

extension JSONValue {
    fileprivate func numbers(_ name: String) -> [Int] {
        guard case .array(let elements)? = self[name] else { return [] }
        return elements.compactMap(\.integer)
    }
}

/// The progress bar of a pass over all encrypted values.
private final class RewrapWatch: Sendable {
    private let bar = ProgressBar()
    // Whether the bar is shown. A lock protects this value, since lines arrive on another thread.
    private let hasBegun = Mutex(false)

    /// Draws the progress that a line of the answer reports.
    func record(_ line: JSONValue) {
        guard let passed = line["Passed"]?.integer, let total = line["Total"]?.integer else { return }
        let isFirst = self.hasBegun.withLock { hasBegun in
            defer { hasBegun = true }
            return !hasBegun
        }
        if isFirst { self.bar.begin("re-encrypting", total: total, unit: .rows) } else { self.bar.update(passed) }
    }

    /// Removes the bar.
    func end() {
        self.bar.end()
    }
}
