package import Foundation
internal import Synchronization

/// Decides which requests have spans, and queues ended spans for their export. Any thread may use
/// this object; its methods never wait.
package final class SpanRecorder: Sendable {
    /// The largest number of spans that wait for their export; further spans are dropped.
    package static let limit = 8192
    /// The largest number of spans in one export. When so many spans wait, the export begins
    /// earlier than planned.
    package static let batch = 512

    /// Is set when enough spans wait for a full batch.
    package let signal = Signal()
    /// The server begins a trace for one in this many requests without a `traceparent`; with 0, it
    /// begins no trace.
    private let every: Int
    private let requests = Atomic(0)
    private let spans = Mutex<[Span]>([])
    private let drops = Atomic(0)
    private let now: @Sendable () -> Date

    package init(sampling every: Int, now: @escaping @Sendable () -> Date = { Date() }) {
        self.every = every
        self.now = now
    }

    /// The number of spans that were dropped since the start: the queue was full, or the collector
    /// refused them.
    package var dropped: Int { self.drops.load(ordering: .relaxed) }

    package func countDropped(_ count: Int) {
        self.drops.wrappingAdd(count, ordering: .relaxed)
    }

    // MARK: Recording

    /// Begins the span of a request; returns `nil` if the request gets no span. If the request
    /// names a trace, the trace's sampled flag decides whether the request gets a span; otherwise
    /// this server's sampling decides.
    package func begin(under caller: TraceContext?) -> OpenSpan? {
        if let caller { return self.begin(within: caller) }
        guard self.every > 0, self.requests.wrappingAdd(1, ordering: .relaxed).oldValue % self.every == 0 else {
            return nil
        }
        return OpenSpan(TraceContext(trace: .random(), span: .random(), isSampled: true), of: nil, at: self.time)
    }

    /// Begins a span whose parent is another span; returns `nil` unless the trace of the parent is
    /// recorded.
    package func begin(within parent: TraceContext?) -> OpenSpan? {
        guard let parent, parent.isSampled else { return nil }
        let own = TraceContext(trace: parent.trace, span: .random(), isSampled: true)
        return OpenSpan(own, of: parent.span, at: self.time)
    }

    package func end(
        _ span: OpenSpan,
        _ name: String,
        _ kind: Span.Kind,
        _ attributes: [Span.Attribute],
        isFailed: Bool = false
    ) {
        let span = span.ended(name, kind, attributes, isFailed: isFailed)
        let count = self.spans.withLock { spans -> Int? in
            guard spans.count < Self.limit else { return nil }
            spans.append(span)
            return spans.count
        }
        guard let count else { return self.countDropped(1) }
        if count == Self.batch { self.signal.set() }
    }

    // MARK: Exporting

    /// Removes the oldest spans from the queue, at most as many as a batch has, and returns them.
    package func take() -> [Span] {
        self.spans.withLock { spans in
            let taken = Array(spans.prefix(Self.batch))
            spans.removeFirst(taken.count)
            return taken
        }
    }

    /// The present time in nanoseconds since 1970.
    private var time: Int64 {
        // The code converts seconds and fraction separately: a `Double` with nanoseconds since
        // 1970 is exact only to 256 ns.
        let time = self.now().timeIntervalSince1970
        let whole = time.rounded(.down)
        return Int64(whole) &* 1_000_000_000 &+ Int64((time - whole) * 1e9)
    }
}

extension SpanRecorder {
    /// Begins the span of a commit to the database. Its parent is the span of the request that the
    /// current task answers.
    package func beginCommit() -> OpenSpan? { self.begin(within: TraceContext.current) }

    /// Ends the span of a commit. `database` is the name of the database system, as OpenTelemetry
    /// spells it.
    package func endCommit(_ span: OpenSpan, of database: String) {
        self.end(span, "commit", .client, [.init("db.system.name", .text(database))])
    }
}
