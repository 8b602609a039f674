import Testing

@testable import PushCore

@Suite struct TraceTests {
    private static let id = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test(arguments: [
        "00-\(id)-00f067aa0ba902b7-01", "00-\(id)-00f067aa0ba902b7-00", "00-\(id)-00f067aa0ba902b7-ff",
        "01-\(id)-00f067aa0ba902b7-01", "cc-\(id)-00f067aa0ba902b7-01-what the future brings",
    ])
    func theTraceOfAValidFieldIsRead(text: String) {
        #expect(TraceContext(traceparent: text)?.trace.description == Self.id)
    }

    @Test(arguments: [
        "", "00", "00-\(id)-00f067aa0ba902b7-1", "00-\(id)-00f067aa0ba902b7-01-", "00-\(id)-00f067aa0ba902b7-01-x",
        "ff-\(id)-00f067aa0ba902b7-01", "01-\(id)-00f067aa0ba902b7-01x", "0-\(id)-00f067aa0ba902b7-01",
        "00-\(id.uppercased())-00f067aa0ba902b7-01", "00-\(id)-00F067AA0BA902B7-01", "00-\(id)-00f067aa0ba902b7-0A",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-\(id)-0000000000000000-01",
        "00_\(id)-00f067aa0ba902b7-01", "00-\(id)_00f067aa0ba902b7-01", "00-\(id)-00f067aa0ba902b7_01",
        "00-\(id.dropLast())-00f067aa0ba902b7-01", "00-\(id.dropLast())g-00f067aa0ba902b7-01",
        " 00-\(id)-00f067aa0ba902b7-01", "00-\(id)-00f067aa0ba902b7-01, 00-\(id)-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
    ])
    func invalidTraceparentsAreIgnored(text: String) {
        #expect(TraceContext(traceparent: text) == nil)
    }

    private func trace(_ number: Int) throws -> TraceContext {
        let digits = String(number, radix: 16)
        let id = String(repeating: "0", count: 32 - digits.count) + digits
        return try #require(TraceContext(traceparent: "00-\(id)-00f067aa0ba902b7-01"))
    }

    @Test func tracesOfTheOldestNotificationsAreEvicted() throws {
        let traces = RequestTraces()
        let ids = (1...Int64(RequestTraces.limit) + 10).compactMap { NotificationID(rawValue: $0) }
        for (index, id) in ids.enumerated() { traces.record(try self.trace(index + 1), of: id) }
        #expect(traces.trace(of: ids[9]) == nil)
        #expect(traces.trace(of: ids[10]) == (try self.trace(11)))
        #expect(traces.trace(of: ids[ids.count - 1]) == (try self.trace(ids.count)))
    }

    @Test func requestsOfATraceAreSampledTogether() throws {
        let traces = RequestTraces(sampling: 10)
        let sampled = try (1...10_000).filter { traces.isSampled(try self.trace($0).trace) }
        #expect((500...2000).contains(sampled.count), "\(sampled.count) of 10,000")
        for number in sampled { #expect(traces.isSampled(try self.trace(number).trace)) }
    }

    @Test func requestsWithoutATraceAreSampledAtTheRate() {
        let traces = RequestTraces()
        #expect((0..<100).count { _ in traces.isSampled(nil) } == 0)
        traces.sample(20)
        #expect((0..<100).count { _ in traces.isSampled(nil) } == 5)
        traces.sample(1)
        #expect((0..<100).count { _ in traces.isSampled(nil) } == 100)
    }
}
