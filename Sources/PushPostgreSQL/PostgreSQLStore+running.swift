internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    /// Even without a signal, the store checks for receipts (records of fetches) after this time.
    private static let longestWait = Duration.seconds(60)

    /// Wakes `run`, which writes the receipts soon. Any thread may call it.
    func receiptsAreWaiting() {
        self.receiptSignal.set()
    }

    /// The store's background work, until the task is cancelled. It writes receipts and the ends
    /// of event streams in groups, a short time after the first of each group. It repeats events
    /// that other servers send to devices with an event stream at this server. It switches to the
    /// keyring's first key once all servers have that key.
    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepReceipts() }
            group.addTask { await self.keepStreams() }
            group.addTask { await self.keepEchoes() }
            group.addTask { await self.keepKeys() }
        }
    }

    private func keepReceipts() async {
        await withTaskCancellationHandler {
            while !Task.isCancelled {
                if self.receipts.count == 0 { await self.receiptSignal.wait(atMost: Self.longestWait) }
                // If the task is cancelled, this sleep ends early, and the loop's condition then
                // ends the loop.
                try? await Task.sleep(for: ReceiptBook.gathering)
                do {
                    try await self.writeReceipts()
                } catch {
                    // `writeReceipts` has put the receipts back into memory, and the loop writes
                    // them after the pause. The failure is not logged here: while the database
                    // fails, requests that store notifications report the failure.
                    try? await Task.sleep(for: ReceiptBook.pause)
                }
            }
        } onCancel: {
            self.receiptSignal.set()
        }
    }
}
