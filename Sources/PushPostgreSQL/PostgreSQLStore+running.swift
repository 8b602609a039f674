internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    /// Even without a signal, the store checks after this time for receipts (records of fetches),
    /// and whether a key waits for other servers.
    static let longestWait = Duration.seconds(60)

    /// The store's background work, until the task is cancelled. It writes receipts and the ends
    /// of event streams in groups, a short time after the first of each group. It repeats events
    /// that other servers send to devices with an event stream at this server. It switches to the
    /// keyring's first key once all servers have that key. It analyzes tables that have grown from
    /// empty.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepReceipts() }
            group.addTask { await self.keepStreams() }
            group.addTask { await self.keepEchoes() }
            group.addTask { await self.keepKeys() }
            group.addTask { await self.keepStatistics() }
        }
    }

    /// Repeats `body` until the task is cancelled; a cancellation also sets `signal`. After a
    /// failure of `body`, waits for `pause`.
    func repeating(_ signal: Signal, pause: Duration, _ body: () async throws -> Void) async {
        await withTaskCancellationHandler {
            while !Task.isCancelled {
                do {
                    try await body()
                } catch {
                    // This failure is not logged here: while the database fails, requests that
                    // store notifications report it. If the task is cancelled, this sleep ends
                    // early, and the loop's condition then ends the loop.
                    try? await Task.sleep(for: pause)
                }
            }
        } onCancel: {
            signal.set()
        }
    }
}
