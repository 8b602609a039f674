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

/// How much waits and what failed, for metrics.
package struct StoreReport: Sendable, Hashable {
    /// Work that waits for its commit.
    package let waiting: Int
    package let receiptsWaiting: Int
    package let receiptsDropped: Int
    package let setAside: Int
    package let checkpointFailures: Int
    /// Bytes of the write-ahead log in use.
    package let logBytes: Int

    package init(
        waiting: Int,
        receiptsWaiting: Int,
        receiptsDropped: Int,
        setAside: Int,
        checkpointFailures: Int,
        logBytes: Int
    ) {
        self.waiting = waiting
        self.receiptsWaiting = receiptsWaiting
        self.receiptsDropped = receiptsDropped
        self.setAside = setAside
        self.checkpointFailures = checkpointFailures
        self.logBytes = logBytes
    }
}
