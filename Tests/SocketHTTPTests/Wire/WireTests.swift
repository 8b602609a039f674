import HTTPTypes
import Reactor
import Testing

@testable import SocketHTTP

/// Sends each row of the table in every way that its bytes can arrive.
///
/// A socket may join two portions before they reach the parser. The tests therefore divide streams
/// with `ScriptedStream`, which is also fast. Over sockets, they send the stream as a whole, and
/// byte by byte.
@Suite(.timeLimit(.minutes(15))) struct WireTests {
    @Test(arguments: WireRow.all) func streamIsAnsweredAlikeInAnyPortions(row: WireRow) async throws {
        let loops = try EventLoopGroup(count: 1)
        defer { loops.stop() }
        let loop = loops.loops[0]
        let server = HTTPServer(listeners: [], loops: loops, limits: WireRow.limits, responder: DescribingResponder())
        let differences = await withTaskGroup(of: [String].self) { group in
            group.addTask(executorPreference: loop) {
                var differences: [String] = []
                for borders in Self.borders(row.sent.count) {
                    let stream = ScriptedStream(row.sent, borders, then: row.ending == .cutOff ? .ends : .waits)
                    await server.serveConnection(stream, peer: .unix, on: loop)
                    if stream.wasAwaited || !row.answers(borders).contains(stream.written) {
                        let state = stream.wasAwaited ? "still open" : "closed"
                        differences.append("\(borders.prefix(2)), \(state): \(String(latin1: stream.written))")
                    }
                }
                return differences
            }
            return await group.next() ?? []
        }
        #expect(differences.isEmpty, "\(differences.count) ways, first \(differences.first ?? "")")
    }

    @Test func streamIsAnsweredAlikeOverSockets() async throws {
        try await withServer(limits: WireRow.limits, responder: DescribingResponder()) { test in
            try await withThrowingDiscardingTaskGroup { group in
                for row in WireRow.all {
                    group.addTask(executorPreference: test.loop) { try await Self.exchange(row, test) }
                }
            }
        }
    }

    private static func exchange(_ row: WireRow, _ test: TestServer) async throws {
        let whole = try await Self.answer(to: [row.sent[...]], row, test)
        #expect(row.answers([]).contains(whole), "\(row): \(String(latin1: whole))")
        // A client that sends bytes after the end of the connection provokes a reset, which may
        // arrive before the answer.
        guard row.ending != .closedAsAsked else { return }
        let answer = try await Self.answer(to: row.sent.indices.map { row.sent[$0...$0] }, row, test)
        #expect([row.answer, row.answerWithLeave].contains(answer), "\(row): \(String(latin1: answer))")
    }

    private static func answer(
        to portions: [ArraySlice<UInt8>],
        _ row: WireRow,
        _ test: TestServer
    ) async throws -> [UInt8] {
        let client = try test.client()
        for portion in portions {
            // The server may refuse the stream and close the connection before the last portion.
            do { try await client.send(portion) } catch { break }
            await Task.yield()
        }
        if row.ending == .cutOff { client.stream.endWriting() }
        return try await client.restOfBytes()
    }

    /// Returns the divisions of a stream that are tested: none, one after each byte, and a single
    /// one at each position (in long streams, at every 37th).
    private static func borders(_ count: Int) -> [[Int]] {
        [[], Array(stride(from: 1, to: count, by: 1))]
            + stride(from: 1, to: count, by: count > 1000 ? 37 : 1).map { [$0] }
    }
}
