import Foundation
import PushTesting
import Reactor
import Testing

@testable import SocketHTTP

/// Compares this project's server with h11, the HTTP/1.1 implementation of Python's httpx and
/// uvicorn.
@Suite(.timeLimit(.minutes(5))) struct DifferentialTests {
    private static let seed: UInt64 = 9112
    /// `SEALPOST_TEST_STREAMS` is the number of streams in `make e2e`.
    private static let count =
        ProcessInfo.processInfo.environment["SEALPOST_TEST_STREAMS"].flatMap { Int($0) } ?? 12_500

    /// Requests can be smuggled if two parsers read the same bytes differently.
    @Test func requestsAreRefusedAndReadAsByH11() async throws {
        var generator = StreamGenerator(seed: Self.seed)
        let streams = (0..<Self.count).map { _ in generator.next() }
        async let expected = Self.verdictsOfH11(streams)
        let ours = try await Self.verdictsOfOurs(streams)
        let theirs = try await expected
        try #require(theirs.count == streams.count)

        var known: [KnownDifference: Int] = [:]
        var accepted = 0
        var wrong: [String] = []
        for (stream, (ours, theirs)) in zip(streams, zip(ours, theirs)) {
            let comparison = Comparison(ours, theirs, on: stream)
            accepted += comparison.common
            switch comparison.result {
            case .alike, .weAreStricter: break
            case .known(let difference): known[difference, default: 0] += 1
            case .readDifferently, .weAreLaxer:
                wrong.append("\(String(latin1: stream).debugDescription)\n  we: \(ours)\n  h11: \(theirs)")
            }
        }
        #expect(wrong.isEmpty, "\(wrong.count) streams:\n\(wrong.prefix(5).joined(separator: "\n"))")
        // The streams prove something only if enough requests were accepted and enough were
        // refused.
        #expect(accepted > Self.count / 2)
        #expect(theirs.count { $0.ending == .refused } > Self.count / 5)
        for difference in KnownDifference.allCases { #expect(known[difference] != nil, "\(difference)") }
    }

    private static func verdictsOfOurs(_ streams: [[UInt8]]) async throws -> [Verdict] {
        let loops = try EventLoopGroup(count: 1)
        defer { loops.stop() }
        let loop = loops.loops[0]
        let recorder = VerdictRecorder()
        let server = HTTPServer(listeners: [], loops: loops, responder: recorder)
        return await withTaskGroup(of: [Verdict].self) { group in
            group.addTask(executorPreference: loop) {
                var random = SeededRandom(seed: Self.seed)
                var verdicts: [Verdict] = []
                for stream in streams {
                    let border = 1 + random.below(max(1, stream.count))
                    verdicts.append(await recorder.verdict(stream, border: border, by: server, on: loop))
                }
                return verdicts
            }
            return await group.next() ?? []
        }
    }

    private static func verdictsOfH11(_ streams: [[UInt8]]) async throws -> [Verdict] {
        let python = Repository.file(".venv-test/bin/python").path
        try #require(FileManager.default.isExecutableFile(atPath: python), "scripts/make-test-environment makes it")
        let folder = try TemporaryFolder()
        var input = Data()
        for stream in streams {
            withUnsafeBytes(of: UInt32(stream.count).bigEndian) { input.append(contentsOf: $0) }
            input.append(contentsOf: stream)
        }
        try input.write(to: URL(fileURLWithPath: folder.file("streams")))
        let script = Repository.file("Tests/Differential/h11_oracle.py").path
        let arguments = [script, folder.file("streams"), folder.file("verdicts")]
        let ended = try await ChildProcess(python, arguments, in: folder.path).end()
        try #require(ended.code == 0, "\(ended.errors)")
        let output = try Data(contentsOf: URL(fileURLWithPath: folder.file("verdicts")))
        return try #require(Verdict.all(Array(output)))
    }
}
