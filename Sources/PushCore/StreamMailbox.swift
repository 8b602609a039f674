internal import Synchronization

/// The events that wait to be written to one event stream. Any thread may use it.
package final class StreamMailbox: Sendable {
    /// The largest number of waiting events. A lane may have more concurrent calls than this, so
    /// that one slow reader cannot use up all of them.
    private static let limit = 100

    private struct Content {
        var events: [PendingEvent] = []
        var isClosed = false
        var needsRevalidation = false
        var ring: (@Sendable () -> Void)?
    }

    private let content = Mutex(Content())

    /// Calls `ring` now, and whenever the first event is put into the empty mailbox.
    package func attach(_ ring: @escaping @Sendable () -> Void) {
        self.content.withLock { $0.ring = ring }
        ring()
    }

    /// Removes and returns all events; the caller must call `succeed` or `fail` of each.
    ///
    /// `needsRevalidation`: since the last call the reader's credentials may have ended, so it
    /// must check them before it sends the events.
    package func take() -> (events: [PendingEvent], needsRevalidation: Bool) {
        self.content.withLock { content in
            defer {
                content.events = []
                content.needsRevalidation = false
            }
            return (content.events, content.needsRevalidation)
        }
    }

    /// Makes the reader check its credentials before it sends anything more.
    package func revalidate() {
        let ring = self.content.withLock { content in
            content.needsRevalidation = true
            return content.ring
        }
        ring?()
    }

    /// Adds an event; `false` if the mailbox is full or closed.
    func put(_ event: PendingEvent) -> Bool {
        let (isTaken, ring) = self.content.withLock { content in
            guard !content.isClosed, content.events.count < Self.limit else { return (false, content.ring) }
            content.events.append(event)
            // The reader that was notified of the first event takes the others, too.
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

/// One push on its way into the streams of a device; it is delivered as soon as one stream has it.
package final class PendingEvent: Sendable {
    private enum State {
        case underway(copies: Int, waiter: CheckedContinuation<Bool, Never>?)
        case ended(isHandedOver: Bool)
    }

    package let id: NotificationID
    package let isLook: Bool
    private let state: Mutex<State>

    init(_ id: NotificationID, isLook: Bool = false, copies: Int) {
        self.id = id
        self.isLook = isLook
        self.state = Mutex(.underway(copies: copies, waiter: nil))
    }

    /// Call it when a socket has accepted a copy.
    package func succeed() {
        self.end(isHandedOver: true)
    }

    /// Call it when a copy is lost; each copy ends with one call of this or of `succeed`.
    package func fail() {
        self.end(isHandedOver: false)
    }

    /// Waits until a socket has accepted one copy, or all copies are lost. One caller only.
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
