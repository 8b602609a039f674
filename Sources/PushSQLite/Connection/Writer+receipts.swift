internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite
internal import Synchronization

/// Writes receipts of fetches late: many of them together, and after the work that clients wait
/// for.
extension Writer {
    /// The pause after each group of receipts. In this time, the clients that are fetching get the
    /// processor. A burst of fetches usually lasts only seconds.
    private static let stepDelay = Duration.milliseconds(20)
    /// If this number of receipts waits, there is no pause, because a burst of so many fetches
    /// does not end soon.
    private static let backlog = 200_000

    /// Records that a user has fetched these notifications. The receipts are written soon.
    func record(_ notifications: [Int64], collectedBy user: Int64, now: Date) {
        switch self.receipts.record(notifications, by: user, at: now.milliseconds) {
        case .first: self.writeReceipts(after: ReceiptBook.gathering)
        case .added: break
        case .dropped: self.events(.receiptsDropped(inAll: self.receipts.dropped))
        }
    }

    /// Writes all waiting receipts. Call it on the writer's queue only.
    func drainReceipts() { while self.receipts.count > 0, self.writeSomeReceipts() {} }

    /// Writes a group of receipts. Returns `false` if some of them could not be written, and must
    /// be written later. Call it on the writer's queue only.
    @discardableResult
    func writeSomeReceipts() -> Bool {
        let receipts = self.receipts.take(ReceiptBook.slice)
        let failed = FailedReceipts()
        self.commit(
            receipts.map { receipt in
                Job(
                    run: { db in
                        try SQLiteStore.write(receipt, db)
                        return {}
                    },
                    fail: { error in
                        if error is StoreError || (error as? DatabaseError)?.isFatal == true {
                            failed.kept.withLock { $0.append(receipt) }
                        } else {
                            self.condition.record(.receipt(notification: receipt.key.notification))
                        }
                    }
                )
            }
        )
        let kept = failed.kept.withLock { $0 }
        if kept.isEmpty {
            if 1..<Self.backlog ~= self.receipts.count { self.writeReceipts(after: Self.stepDelay) }
            return true
        }
        self.receipts.putBack(kept)
        self.writeReceipts(after: ReceiptBook.pause)
        return false
    }

    private func writeReceipts(after delay: Duration) {
        self.state.withLock { $0.receiptsDueAt = .now + delay }
        self.run(after: delay) { $0.start() }
    }
}

/// The receipts of one group that could not be written, and must be written later. The other
/// receipts that failed have damaged rows.
private final class FailedReceipts: Sendable {
    let kept = Mutex<[ReceiptBook.Receipt]>([])
}
