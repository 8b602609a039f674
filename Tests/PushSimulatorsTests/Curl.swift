import Foundation
import PushSimulators
import PushTesting

/// An independent client: the command `curl`, which trusts one authority.
struct Curl {
    struct Answer {
        let status: Int
        let version: String
        let headers: [HeaderField]
        let body: String

        func header(_ name: String) -> String? {
            self.headers.first { $0.name.lowercased() == name }?.value
        }
    }

    struct Failure: Error {
        let code: Int32
    }

    private let directory: URL

    init(trusting authority: TestAuthority) throws {
        self.directory = FileManager.default.temporaryDirectory.appending(path: "curl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
        try authority.write(to: self.directory.appending(path: "ca.crt").path)
    }

    /// Sends one request, and then removes the client's temporary directory.
    func send(
        _ url: String,
        headers: [HeaderField] = [],
        body: String,
        options: [String] = ["--http2"]
    ) async throws -> Answer {
        let head = self.directory.appending(path: "head").path
        let lines = ["--header", "Content-Type:"] + headers.flatMap { ["--header", "\($0.name): \($0.value)"] }
        let output = try await self.run(
            options + lines + ["--dump-header", head, "--data-binary", body, url]
        )
        return try Self.parse(head: output.head, body: output.body)
    }

    /// Runs curl and waits for its exit. Throws `Failure` with curl's exit code unless this is 0.
    private func run(_ arguments: [String]) async throws -> (head: String, body: String) {
        defer {
            // If the removal fails, the directory stays, which does no harm.
            try? FileManager.default.removeItem(at: self.directory)
        }
        let ca = self.directory.appending(path: "ca.crt").path
        let ended = try await ChildProcess(
            "/usr/bin/curl",
            ["--silent", "--max-time", "20", "--cacert", ca] + arguments,
            in: self.directory.path
        ).end()
        guard ended.code == 0 else { throw Failure(code: ended.code) }
        let head = self.directory.appending(path: "head").path
        return (try String(contentsOfFile: head, encoding: .utf8), ended.output)
    }

    private static func parse(head: String, body: String) throws -> Answer {
        var lines = head.split(whereSeparator: \.isNewline)
        let first = lines.removeFirst().split(separator: " ")
        let headers = lines.compactMap { line -> HeaderField? in
            let parts = line.split(separator: ":", maxSplits: 1)
            return parts.count == 2 ? HeaderField(String(parts[0]), parts[1].trimmingCharacters(in: .whitespaces)) : nil
        }
        return Answer(status: Int(first[1]) ?? 0, version: String(first[0]), headers: headers, body: body)
    }
}
