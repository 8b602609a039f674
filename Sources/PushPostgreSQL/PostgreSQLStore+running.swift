internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    /// Without a signal, the store checks for receipts after this time.
    private static let longestWait = Duration.seconds(60)

    /// Wakes `run`, which writes the receipts soon. Any thread may call it.
    func receiptsAreWaiting() {
        self.receiptSignal.set()
    }

    /// Writes receipts and the ends of event streams in groups, a short time after the first.
    /// Repeats events that other servers send to devices with an event stream at this server.
    /// Encrypts with the keyring's first key once all servers have it.
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
                // Cancellation of the task ends the sleep early; then the loop's condition ends
                // the loop.
                try? await Task.sleep(for: ReceiptBook.gathering)
                do {
                    try await self.writeReceipts()
                } catch {
                    // `writeReceipts` has requeued the receipts. Nothing is reported here: while
                    // the database fails, posts report it.
                    try? await Task.sleep(for: ReceiptBook.pause)
                }
            }
        } onCancel: {
            self.receiptSignal.set()
        }
    }
}
