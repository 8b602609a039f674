package import PushCore

/// An event that the store reports to its operator.
package enum StoreEvent: Sendable, Hashable {
    /// The disk failed in a way after which the store can guarantee nothing; only a restart helps.
    case broken(reason: String)
    /// The disk is full; writes fail until there is room.
    case diskFull
    /// The disk has free space again, and writes succeed.
    case roomAgain
    /// Erased data may remain in the free space of the database's pages.
    case notWiped(reason: String)
    /// Another server that shares the store has encrypted with a data key that this one lacks;
    /// pushes wait for a server that has the key. Reported once for each key.
    case keyMissing(UInt32)
    /// The keyring's first key does not encrypt yet. Reported once for each key, and each time the
    /// key waits for other servers.
    case keyWaits(KeyWait)
    /// The key that waited encrypts from now on.
    case keySeals(UInt32)
    /// Other servers encrypt with a key that this one lacks, so this server no longer takes part
    /// in the work. Reported once for each reason.
    case outWithoutKey(reason: String)
    /// A row cannot be read; the store skips it, so that it does not block others.
    case setAside(SetAside)
    /// Too many receipts wait to be written, and the newest were dropped; `inAll` counts all
    /// dropped receipts since the start.
    case receiptsDropped(inAll: Int)
    /// The write-ahead log could not be checkpointed; reported once for each reason, until a
    /// checkpoint succeeds.
    case checkpointFailed(reason: String)
    /// The write-ahead log has grown to this many bytes, because a reader does not end or
    /// checkpoints fail; reported at each doubling.
    case logIsLong(bytes: Int)
    /// The database's file has become shorter by this many bytes.
    case spaceGivenBack(bytes: Int)
    /// The database's file does not become shorter, since it cannot be changed.
    case spaceNotGivenBack(reason: String)
    /// An older version made the database, so its files never become shorter, and it is too large
    /// to be rewritten at the start.
    case fileStaysLong
    /// The only database server that accepts writes lacks data that was stored before; the store
    /// neither reads nor writes there.
    case databaseRefused(reason: String)
    /// The store uses a database server again.
    case databaseTrusted
    /// The newest timeline of the database is not on this machine's disk: after a start the server
    /// would not recognize an older database.
    case markNotKept(reason: String)

    package enum SetAside: Sendable, Hashable {
        /// A broadcast was stopped.
        case broadcast(notification: Int64)
        /// A scheduled notification is not sent.
        case scheduled(notification: Int64)
        /// A push has failed.
        case push(notification: Int64, device: Int64)
        /// The outcome of a push is not stored.
        case settlement(notification: Int64, device: Int64)
        /// The receipt of a notification is not stored.
        case receipt(notification: Int64)
    }
}

/// Counts of waiting work and of failures, for metrics.
package struct StoreReport: Sendable, Hashable {
    /// The number of writes that wait for their commit.
    package let waiting: Int
    package let receiptsWaiting: Int
    package let receiptsDropped: Int
    package let setAside: Int
    package let checkpointFailures: Int
    /// The number of bytes of the write-ahead log in use.
    package let logBytes: Int
    /// `nil` if the store has no file of its own, or has not examined it yet.
    package let file: File?
    /// `nil` if the store does not count its commits.
    package let commits: Commits?
    /// `nil` if a database server makes the syncs.
    package let syncs: Syncs?

    /// The transactions of this server that write, since the start.
    package struct Commits: Sendable, Hashable {
        /// The number of writes in all of these transactions; writes that wait at the same time
        /// share a transaction.
        package var writes: Int
        /// The times from a transaction's last statement until the transaction is on the disk; for
        /// a database server this includes the round trip.
        package var times: TimeHistogram

        package init(writes: Int, times: TimeHistogram) {
            (self.writes, self.times) = (writes, times)
        }
    }

    /// How long calls waited until a file's changes were on the disk, since the start.
    package struct Syncs: Sendable, Hashable {
        /// The syncs of the write-ahead log; each commit waits for one sync.
        package var log = TimeHistogram()
        /// Syncs of the database's file, in checkpoints.
        package var database = TimeHistogram()

        package init() {}
    }

    /// The database's file.
    package struct File: Sendable, Hashable {
        package let bytes: Int
        /// The number of bytes of empty pages, which the database reuses or returns to the file
        /// system.
        package let freeBytes: Int

        package init(bytes: Int, freeBytes: Int) {
            (self.bytes, self.freeBytes) = (bytes, freeBytes)
        }
    }

    package init(
        waiting: Int,
        receiptsWaiting: Int,
        receiptsDropped: Int,
        setAside: Int,
        checkpointFailures: Int,
        logBytes: Int,
        file: File? = nil,
        commits: Commits? = nil,
        syncs: Syncs? = nil
    ) {
        (self.waiting, self.setAside, self.checkpointFailures) = (waiting, setAside, checkpointFailures)
        (self.receiptsWaiting, self.receiptsDropped) = (receiptsWaiting, receiptsDropped)
        (self.logBytes, self.file, self.commits, self.syncs) = (logBytes, file, commits, syncs)
    }
}
