internal import Foundation
internal import PushAPI

#if canImport(FoundationNetworking)
    internal import FoundationNetworking
#endif

/// The unread signals of one event stream. The URL session's queue writes them, and one task reads
/// them.
///
/// The class uses a lock rather than an actor, because the session's queue must not wait.
final class EventChannel: Sendable {
    enum Signal: Sendable, Hashable {
        case event(ServerEvent)
        /// Bytes without an event have arrived: a heartbeat, or the server's greeting. They show
        /// that the stream works.
        case alive
    }

    fileprivate struct State {
        var parser = EventParser()
        var count = 0
        var signals: [Signal] = []
        var end: Result<Void, any Error>?
        var waiting: CheckedContinuation<Void, Never>?
        var cancel: (@Sendable () -> Void)?
    }

    /// The maximum number of unread signals. With more signals the stream ends with an error. On
    /// the next stream, the server repeats the events whose notifications were not fetched.
    static let maximumSignals = 500
    private let state = Locked(State())

    /// The delay that the server asks for before a reconnection.
    var retry: Duration? { self.state.withLock { $0.parser.retry } }

    // MARK: - The session's side

    /// Sets the closure that cancels the transfer.
    func attach(_ cancel: @escaping @Sendable () -> Void) {
        self.state.withLock { $0.cancel = cancel }
    }

    /// Parses bytes of the stream; returns `false` if the channel wants no more bytes.
    func receive(_ bytes: Data) -> Bool {
        let (goesOn, waiting) = self.state.withLock { state in
            let goesOn = Self.take(bytes, &state)
            return (goesOn, state.takeWaiting())
        }
        waiting?.resume()
        return goesOn
    }

    /// Ends the stream. `error` is the network's error; `nil` if the server has ended the stream.
    func finish(_ error: (any Error)?) {
        let waiting = self.state.withLock { state in
            state.cancel = nil
            state.end = state.end ?? Self.end(error, after: state.count)
            return state.takeWaiting()
        }
        waiting?.resume()
    }

    private static func take(_ bytes: Data, _ state: inout State) -> Bool {
        guard state.end == nil else { return false }
        state.count += bytes.count
        do {
            let events = try state.parser.take(bytes)
            state.signals += events.map(Signal.event)
            if state.signals.isEmpty { state.signals = [.alive] }
        } catch {
            state.end = .failure(self.interference(.oversized, "an event", "a longer one"))
            return false
        }
        guard state.signals.count <= self.maximumSignals else {
            state.end = .failure(PushClientError.offline(.dataLengthExceedsMaximum))
            return false
        }
        return true
    }

    private static func end(_ error: (any Error)?, after count: Int) -> Result<Void, any Error> {
        guard let error else { return .success(()) }
        // The device gave up, or lost its network: this is not an interference.
        if let error = error as? URLError, NetworkFailure.isOwn(error) {
            return .failure(NetworkFailure.clientError(error))
        }
        return .failure(self.interference(.truncated, "an end", "\(count) bytes"))
    }

    private static func interference(_ kind: Interference.Kind, _ expected: String, _ seen: String) -> PushClientError {
        .interference(Interference(kind: kind, expected: expected, seen: seen, status: 200, path: Paths.stream))
    }

    // MARK: - The taker's side

    /// Returns the next signal; `nil` after the last signal. Throws the stream's own error,
    /// `CancellationError`, and `PushClientError.timedOut` after a silence as long as `silence`.
    func next(within silence: Duration) async throws -> Signal? {
        try await withThrowingTaskGroup(of: Signal?.self) { group in
            group.addTask { try await self.next() }
            group.addTask {
                try await Task.sleep(for: silence)
                throw PushClientError.timedOut
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }

    /// Ends the transfer.
    func cancel() {
        self.state.withLock { $0.cancel }?()
    }

    private func next() async throws -> Signal? {
        while true {
            let next: Result<Signal?, any Error>? = self.state.withLock { state in
                if !state.signals.isEmpty { return .success(state.signals.removeFirst()) }
                return state.end.map { end in end.map { nil } }
            }
            if let next { return try next.get() }
            await self.wait()
            try Task.checkCancellation()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = self.state.withLock { state in
                    if !state.signals.isEmpty || state.end != nil || Task.isCancelled { return true }
                    state.waiting = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.takeWaiting() }?.resume()
        }
    }
}

extension EventChannel.State {
    fileprivate mutating func takeWaiting() -> CheckedContinuation<Void, Never>? {
        defer { self.waiting = nil }
        return self.waiting
    }
}
