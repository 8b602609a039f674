internal import Synchronization

/// What waits to be written to one event stream. From any thread.
package final class StreamMailbox: Sendable {
    /// Fewer than the pushes that a sender has on the way at once: one slow reader must not hold them all.
    private static let bound = 100

    private struct Content {
        var events: [PendingEvent] = []
        var isClosed = false
        var ring: (@Sendable () -> Void)?
    }

    private let content = Mutex(Content())

    /// Has `ring` called whenever there is something to take.
    package func attach(_ ring: @escaping @Sendable () -> Void) {
        self.content.withLock { $0.ring = ring }
        ring()
    }

    /// Takes everything out; each must then be told what became of it.
    package func take() -> [PendingEvent] {
        self.content.withLock { content in
            defer { content.events = [] }
            return content.events
        }
    }

    /// `false` if it is full or closed.
    func put(_ event: PendingEvent) -> Bool {
        let (isTaken, ring) = self.content.withLock { content in
            guard !content.isClosed, content.events.count < Self.bound else { return (false, content.ring) }
            content.events.append(event)
            // Whoever has been rung for the first will take the others, too.
            return (true, content.events.count == 1 ? content.ring : nil)
        }
        if isTaken { ring?() } else { event.fail() }
        return isTaken
    }

    func close() {
        let events = self.content.withLock { content in
            content.isClosed = true
            content.ring = nil
            defer { content.events = [] }
            return content.events
        }
        for event in events { event.fail() }
    }
}

/// One push on its way into the streams of a device, of which one is enough.
package final class PendingEvent: Sendable {
    private enum State {
        case underway(copies: Int, waiter: CheckedContinuation<Bool, Never>?)
        case ended(isHandedOver: Bool)
    }

    package let id: NotificationID
    private let state: Mutex<State>

    init(_ id: NotificationID, copies: Int) {
        self.id = id
        self.state = Mutex(.underway(copies: copies, waiter: nil))
    }

    /// To be called when a socket has taken it.
    package func succeed() {
        self.end(isHandedOver: true)
    }

    /// To be called, or `handedOver`, once for each copy.
    package func fail() {
        self.end(isHandedOver: false)
    }

    /// Returns as soon as one copy was handed over, or all are lost. One caller.
    var isHandedOver: Bool {
        get async {
            await withCheckedContinuation { continuation in
                let known: Bool? = self.state.withLock { state in
                    switch state {
                    case .ended(let isHandedOver): return isHandedOver
                    case .underway(let copies, _):
                        state = .underway(copies: copies, waiter: continuation)
                        return nil
                    }
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }

    private func end(isHandedOver: Bool) {
        let waiter = self.state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard case .underway(let copies, let waiter) = state else { return nil }
            guard isHandedOver || copies == 1 else {
                state = .underway(copies: copies - 1, waiter: waiter)
                return nil
            }
            state = .ended(isHandedOver: isHandedOver)
            return waiter
        }
        waiter?.resume(returning: isHandedOver)
    }
}
