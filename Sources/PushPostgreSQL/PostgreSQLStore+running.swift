internal import PushCore
internal import PushStore

extension PostgreSQLStore {
    /// How long the first receipt waits for others to share its commit.
    private static let gathering = Duration.milliseconds(500)
    /// The pause before receipts that could not be written are retried.
    private static let pause = Duration.seconds(1)
    /// After this time without a signal it looks for itself.
    private static let longestWait = Duration.seconds(60)

    /// Has `run` write the receipts soon. From any thread.
    func receiptsAreWaiting() {
        self.receiptSignal.set()
    }

    /// Writes receipts and the ends of event streams, some time after the first of them, repeats what other processes send to
    /// devices that have a stream here, too, and seals with another key when all have it.
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
                // Ended early by the task's end, which the loop's condition sees.
                try? await Task.sleep(for: Self.gathering)
                do {
                    try await self.writeReceipts()
                } catch {
                    // They are put back; while the database fails, posts report it.
                    try? await Task.sleep(for: Self.pause)
                }
            }
        } onCancel: {
            self.receiptSignal.set()
        }
    }
}
