/// The changes of a cached inbox, as `PushClient.updates(every:)` returns them.
public struct InboxUpdates: AsyncSequence, Sendable {
    let client: PushClient
    let interval: Duration

    /// The iterator begins with the changes after this call.
    public func makeAsyncIterator() -> Iterator {
        Iterator(client: self.client, interval: self.interval, mark: self.client.inbox.account.latest)
    }

    /// An iterator that waits for changes.
    public struct Iterator: AsyncIteratorProtocol, Sendable {
        let client: PushClient
        let interval: Duration
        var mark: Int64

        /// Returns the changes since the previous call, never `nil`. Throws
        /// ``PushClientError/signedOut`` if nobody is signed in, and `CancellationError`.
        public mutating func next() async throws -> InboxChanges? {
            try self.client.checkSignedIn()
            let inbox = self.client.inbox
            while true {
                try await inbox.waitForChange(after: self.mark, atMost: self.interval)
                // After the interval there may be no change.
                if inbox.account.latest == self.mark { continue }
                let changes = try await inbox.changes(since: self.mark, consumer: "")
                // In a store that was created again, the commit numbers are lower, and everything
                // counts as changed.
                self.mark = changes.upTo
                if !changes.isEmpty { return changes }
            }
        }
    }
}
