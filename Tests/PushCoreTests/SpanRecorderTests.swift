import Foundation
import Testing

@testable import PushCore

@Suite struct SpanRecorderTests {
    private static let caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7"

    private func end(_ span: OpenSpan?, in recorder: SpanRecorder) throws {
        recorder.end(try #require(span), "x", .server, [])
    }

    @Test func aSampledTraceIsContinued() throws {
        let recorder = SpanRecorder(sampling: 0)
        let caller = try #require(TraceContext(traceparent: "\(Self.caller)-01"))
        let request = try #require(recorder.begin(under: caller))
        let commit = try #require(recorder.begin(within: request.context))
        recorder.endCommit(commit, of: "sqlite")
        try self.end(request, in: recorder)
        let spans = recorder.take()
        #expect(spans.map(\.name) == ["commit", "x"])
        #expect(spans.allSatisfy { $0.context.trace == caller.trace && $0.end >= $0.start })
        #expect(spans[1].parent == caller.span)
        #expect(spans[0].parent == spans[1].context.span)
        #expect(Set(spans.map(\.context.span) + [caller.span]).count == 3)
        #expect(recorder.take().isEmpty)
    }

    @Test func aTraceThatTheCallerDoesNotRecordHasNoSpans() throws {
        let recorder = SpanRecorder(sampling: 1)
        let caller = try #require(TraceContext(traceparent: "\(Self.caller)-fe"))
        #expect(recorder.begin(under: caller) == nil)
        #expect(recorder.begin(within: caller) == nil)
        #expect(recorder.begin(within: nil) == nil)
    }

    @Test(arguments: [(0, 0), (1, 100), (20, 5)])
    func requestsWithoutATraceAreSampledAtTheRate(every: Int, count: Int) throws {
        let recorder = SpanRecorder(sampling: every)
        let spans = (0..<100).compactMap { _ in recorder.begin(under: nil) }
        #expect(spans.count == count)
        #expect(Set(spans.map(\.context.trace)).count == count)
        try spans.forEach { try self.end($0, in: recorder) }
        #expect(recorder.take().allSatisfy { $0.parent == nil })
    }

    @Test func aFullQueueDropsSpansAndCountsThem() throws {
        let recorder = SpanRecorder(sampling: 1)
        for _ in 0..<SpanRecorder.limit + 3 { try self.end(recorder.begin(under: nil), in: recorder) }
        #expect(recorder.dropped == 3)
        var sizes: [Int] = []
        while case let batch = recorder.take(), !batch.isEmpty { sizes.append(batch.count) }
        #expect(sizes.reduce(0, +) == SpanRecorder.limit)
        #expect(sizes.allSatisfy { $0 == SpanRecorder.batch })
    }

    @Test func theTimesAreThoseOfTheClockInNanoseconds() throws {
        let recorder = SpanRecorder(sampling: 1) { Date(timeIntervalSince1970: 1_800_000_000.25) }
        try self.end(recorder.begin(under: nil), in: recorder)
        let span = try #require(recorder.take().first)
        #expect(span.start == 1_800_000_000_250_000_000)
        #expect((span.start...span.start + 60_000_000_000).contains(span.end))
    }
}
