/// Sends events to the operator's receiver.
package protocol EventSender: Sendable {
    /// Sends a message, and returns once the receiver has acknowledged it. Must return within a
    /// deadline.
    ///
    /// A failure is one of `unavailable`, `overloaded` and `misconfigured`.
    func send(_ batch: EventBatch) async throws(SendFailure)
}

/// A message with events.
package struct EventBatch: Sendable, Hashable {
    /// The id of the message, which is the same whenever exactly these events are sent again.
    package let id: String
    package let body: [UInt8]

    package init(id: String, body: [UInt8]) {
        self.id = id
        self.body = body
    }
}
