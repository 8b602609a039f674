/// The changes of a cached inbox, as `PushClient.updates(every:)` returns them.
public struct InboxUpdates: AsyncSequence, Sendable {
    let inbox: InboxKeeper
    let interval: Duration

    /// The iterator begins with the changes after this call.
    public func makeAsyncIterator() -> Iterator {
        Iterator(inbox: self.inbox, interval: self.interval, mark: self.inbox.account.latest)
    }

    /// An iterator that waits for changes.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let inbox: InboxKeeper
        let interval: Duration
        var mark: Int64

        /// Returns the changes since the previous call; `nil` after the account was signed out.
        /// Throws `CancellationError`.
        public mutating func next() async throws -> InboxChanges? {
            while true {
                try await self.inbox.waitForChange(after: self.mark, atMost: self.interval)
                // After the interval there may be no change.
                if self.inbox.account.latest == self.mark { continue }
                do {
                    let changes = try await self.inbox.changes(since: self.mark, consumer: "")
                    // In a store that was created again, the commit numbers are lower, and
                    // everything counts as changed.
                    self.mark = changes.upTo
                    if !changes.isEmpty { return changes }
                } catch PushClientError.signedOut {
                    return nil
                }
            }
        }
    }
}
