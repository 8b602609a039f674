internal import Synchronization

/// The events that wait to be written to one event stream. Any thread may use this object.
package final class StreamMailbox: Sendable {
    /// The largest number of waiting events. Events wait in this mailbox even after a newer stream
    /// of the device has accepted them.
    private static let limit = 100

    private struct Content {
        var events: [PendingEvent] = []
        var isClosed = false
        var needsRevalidation = false
        var ring: (@Sendable () -> Void)?
    }

    let user: Int64
    private let content = Mutex(Content())

    init(ofUser user: Int64) {
        self.user = user
    }

    /// Calls `ring` now, and whenever an event is put into the empty mailbox.
    package func attach(_ ring: @escaping @Sendable () -> Void) {
        self.content.withLock { $0.ring = ring }
        ring()
    }

    /// Removes and returns all events; the caller must call `succeed` or `fail` of each event.
    ///
    /// If `needsRevalidation` is `true`, the credentials of the stream's user may have ended since
    /// the last call. The caller must check them before it sends the events.
    package func take() -> (events: [PendingEvent], needsRevalidation: Bool) {
        self.content.withLock { content in
            defer {
                content.events = []
                content.needsRevalidation = false
            }
            return (content.events, content.needsRevalidation)
        }
    }

    /// Makes the task that writes the stream check its credentials before it sends further events.
    package func revalidate() {
        let ring = self.content.withLock { content in
            content.needsRevalidation = true
            return content.ring
        }
        ring?()
    }

    /// Adds an event; `false` if the mailbox is full or closed.
    @discardableResult func put(_ event: PendingEvent) -> Bool {
        let (isTaken, ring) = self.content.withLock { content in
            guard !content.isClosed, content.events.count < Self.limit else { return (false, content.ring) }
            content.events.append(event)
            // The task that was notified of the first event takes all further events, too.
            return (true, content.events.count == 1 ? content.ring : nil)
        }
        if isTaken { ring?() }
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

/// One push on its way into one stream of a device; it counts as delivered as soon as the socket
/// of the stream has accepted it.
package final class PendingEvent: Sendable {
    private enum State {
        case underway(waiter: CheckedContinuation<Bool, Never>?)
        case ended(isHandedOver: Bool)
    }

    package let id: NotificationID
    package let isLook: Bool
    private let state: Mutex<State>

    init(_ id: NotificationID, isLook: Bool) {
        self.id = id
        self.isLook = isLook
        self.state = Mutex(.underway(waiter: nil))
    }

    /// Call this method when the socket has accepted the event.
    package func succeed() {
        self.end(isHandedOver: true)
    }

    /// Call this method when the event is lost. Each event must end with a call of `fail` or
    /// `succeed`.
    package func fail() {
        self.end(isHandedOver: false)
    }

    /// Waits until the socket has accepted the event, or the event is lost. Only one task may
    /// wait.
    var isHandedOver: Bool {
        get async {
            await withCheckedContinuation { continuation in
                let known: Bool? = self.state.withLock { state in
                    switch state {
                    case .ended(let isHandedOver): return isHandedOver
                    case .underway:
                        state = .underway(waiter: continuation)
                        return nil
                    }
                }
                if let known { continuation.resume(returning: known) }
            }
        }
    }

    private func end(isHandedOver: Bool) {
        let waiter = self.state.withLock { state -> CheckedContinuation<Bool, Never>? in
            guard case .underway(let waiter) = state else { return nil }
            state = .ended(isHandedOver: isHandedOver)
            return waiter
        }
        waiter?.resume(returning: isHandedOver)
    }
}
