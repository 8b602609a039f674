internal import Synchronization

/// What the store tells its operator besides what it answers.
package enum StoreEvent: Sendable, Hashable {
    /// The disk failed at a moment after which nothing can be promised any more; only a restart helps.
    case broken(reason: String)
    /// Nothing can be stored until there is room.
    case diskFull
    /// There is room again, and everything can be stored.
    case roomAgain
    /// What was erased may be found in free room of the database's pages.
    case notWiped(reason: String)
    /// A row cannot be read, and stops nobody else.
    case setAside(SetAside)
    /// Too many receipts wait to be written: the newest were dropped, so many since the start.
    case receiptsDropped(inAll: Int)
    /// The log could not be moved into the database; said once, until it works again.
    case checkpointFailed(reason: String)
    /// The log has become this long, in bytes, because something reads that does not end; said at each doubling.
    case logIsLong(bytes: Int)

    package enum SetAside: Sendable, Hashable {
        /// A broadcast goes no further.
        case broadcast(notification: Int64)
        /// A push has failed.
        case push(notification: Int64, device: Int64)
        /// How a push ended is not written down.
        case settlement(notification: Int64, device: Int64)
        /// That somebody has collected a notification is not written down.
        case receipt(notification: Int64)
    }
}

/// What the store has counted since the start, and how much waits. From any thread.
final class StoreCounts: Sendable {
    /// Rows that were set aside.
    let setAside = Atomic(0)
    /// Transactions that were undone and done again.
    let repeated = Atomic(0)
    let checkpointFailures = Atomic(0)
    /// Transactions that left something to be wiped.
    let erasures = Atomic(0)
}

/// The state of the writer, for metrics.
package struct WriterReport: Sendable, Hashable {
    /// Work that waits for its commit.
    package let waiting: Int
    package let receiptsWaiting: Int
    package let receiptsDropped: Int
    package let setAside: Int
    package let checkpointFailures: Int
    /// Bytes of the write-ahead log in use.
    package let logBytes: Int
}

extension Store {
    package var writerReport: WriterReport {
        WriterReport(
            waiting: self.writer.waitingCount,
            receiptsWaiting: self.writer.receipts.count,
            receiptsDropped: self.writer.receipts.dropped,
            setAside: self.writer.counts.setAside.load(ordering: .relaxed),
            checkpointFailures: self.writer.counts.checkpointFailures.load(ordering: .relaxed),
            logBytes: self.writer.log.pages * Writer.pageSize
        )
    }
}

extension Writer {
    /// Counts a row that cannot be read, and tells the operator.
    func noteSetAside(_ row: StoreEvent.SetAside) {
        self.counts.setAside.wrappingAdd(1, ordering: .relaxed)
        self.events(.setAside(row))
    }
}
