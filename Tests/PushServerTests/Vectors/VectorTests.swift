import Foundation
import PushAPI
import PushTesting
import Testing

/// The files in `docs/evidence/vectors`, with which every client is tested, match the server.
///
/// `SEALPOST_WRITE_VECTORS=1 swift test --filter VectorTests` writes the files again.
@Suite(.timeLimit(.minutes(5))) struct VectorTests {
    private static let folder = "docs/evidence/vectors"
    private static let files: [String: @Sendable () async throws -> JSONValue] = [
        "hints": { try HintVectors.file() },
        "pushes": { try PushVectors.file() },
        "keys": { try VectorKeys.file() },
        "echo": { try await EchoVectors.file() },
        "digests": { DigestVectors.file() },
        "accounts": { try await AccountVectors.file() },
        "signatures": { try await SignatureVectors.file() },
        "histories": { try await HistoryVectors.file() },
        "interference": { try await InterferenceVectors.file() },
        "outbox": { try await OutboxVectors.file() },
        "late": { try await LateAnswerVectors.file() },
    ]

    @Test(arguments: Self.files.keys.sorted()) func eachFileEqualsTheServersOutput(name: String) async throws {
        let text = try #require(try await Self.files[name]?()).lines
        let path = "\(Self.folder)/\(name).json"
        if ProcessInfo.processInfo.environment["SEALPOST_WRITE_VECTORS"] == "1" {
            try Data(text.utf8).write(to: Repository.file(path))
        }
        let (kept, made) = (try Repository.text(of: path).split(separator: "\n"), text.split(separator: "\n"))
        let difference = zip(kept, made).first { $0 != $1 }
        #expect(
            kept.count == made.count && difference == nil,
            "\(path) differs: \(difference.map { "\($0)" } ?? "length")"
        )
    }

    @Test func eachFileIsDescribed() throws {
        let page = try Repository.text(of: "\(Self.folder)/README.md")
        let names = try FileManager.default.contentsOfDirectory(atPath: Repository.file(Self.folder).path)
        // The client library for Python writes `end-to-end.json`, because the server has no code
        // for end-to-end encryption. `webhooks.json` is written by hand.
        let described = Self.files.keys + ["end-to-end", "webhooks"]
        #expect(Set(names) == Set(described.map { "\($0).json" } + ["README.md"]))
        for name in described { #expect(page.contains("\n## `\(name).json`"), "\(name)") }
    }
}
