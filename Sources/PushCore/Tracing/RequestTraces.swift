internal import Synchronization

/// Decides which requests and pushes are logged at the level `info`, and keeps the traces of the
/// newest notifications.
///
/// The traces are in memory only: they help people to follow a request through the log and through
/// spans, but are not worth a write to the database. Any thread may use this object.
package final class RequestTraces: Sendable {
    /// The largest number of notifications whose traces are kept; above it, the oldest are
    /// evicted.
    package static let limit = 50_000

    private struct State {
        var traces: [NotificationID: TraceContext] = [:]
        /// The notifications in the order of their posts, as a ring buffer.
        var order: [NotificationID] = []
        var next = 0
    }

    /// The server logs about one in this many requests at `info`; with 0, it logs none at `info`.
    private let every: Atomic<Int>
    private let requests = Atomic(0)
    /// Whether any trace was recorded. Most servers never record a trace; their pushes then take
    /// no lock.
    private let isUsed = Atomic(false)
    private let state = Mutex(State())
    /// Records spans; `nil` if no collector of spans is configured.
    package let spans: SpanRecorder?

    package init(sampling every: Int = 0, spans: SpanRecorder? = nil) {
        self.every = Atomic(every)
        self.spans = spans
    }

    /// Changes the sampled share of requests.
    package func sample(_ every: Int) {
        self.every.store(every, ordering: .relaxed)
    }

    /// Whether a request, or a push that it has caused, is logged at `info`. The answer is the
    /// same for all requests and pushes of a trace.
    package func isSampled(_ trace: TraceID?) -> Bool {
        let every = self.every.load(ordering: .relaxed)
        if every == 0 { return false }
        guard let trace else {
            return self.requests.wrappingAdd(1, ordering: .relaxed).oldValue % every == 0
        }
        // The hash has a random seed of this process, so that a caller cannot choose traces which
        // are all logged.
        var hasher = Hasher()
        hasher.combine(trace)
        return UInt(bitPattern: hasher.finalize()) % UInt(every) == 0
    }

    /// Records the trace of the request that has posted a notification.
    package func record(_ trace: TraceContext, of notification: NotificationID) {
        self.state.withLock { state in
            guard state.traces.updateValue(trace, forKey: notification) == nil else { return }
            if state.order.count < Self.limit { return state.order.append(notification) }
            state.traces[state.order[state.next]] = nil
            state.order[state.next] = notification
            state.next = (state.next + 1) % Self.limit
        }
        self.isUsed.store(true, ordering: .relaxed)
    }

    /// The trace of a notification that was posted to this server, unless it was evicted.
    package func trace(of notification: NotificationID) -> TraceContext? {
        guard self.isUsed.load(ordering: .relaxed) else { return nil }
        return self.state.withLock { $0.traces[notification] }
    }
}
