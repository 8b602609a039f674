/// Sends events to the receiver that the operator has configured.
package protocol EventSender: Sendable {
    /// Sends a message, and returns once the receiver has acknowledged it. An implementation must
    /// return within a deadline of its own.
    ///
    /// The failure that it throws is `unavailable`, `overloaded` or `misconfigured`.
    func send(_ batch: EventBatch) async throws(SendFailure)
}

/// A message with events.
package struct EventBatch: Sendable, Hashable {
    /// The id of the message, which is the same whenever the message is sent again with exactly
    /// the same events.
    package let id: String
    package let body: [UInt8]

    package init(id: String, body: [UInt8]) {
        self.id = id
        self.body = body
    }
}
