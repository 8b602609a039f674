package import PushCore

/// An event that the store reports to its operator.
package enum StoreEvent: Sendable, Hashable {
    /// The disk has failed, and the store can guarantee nothing until the process restarts. Or one
    /// of the database's files was removed or replaced; then an operator must act before a start.
    case broken(reason: String, needsOperator: Bool = false)
    /// The database's file is damaged. Reported once until the process restarts.
    case fileDamaged(reason: String)
    /// The disk is full. Writes that need more space fail.
    case diskFull
    /// The disk has free space again, and writes succeed.
    case roomAgain
    /// The store could not overwrite erased data, so this data may remain in free space of the
    /// database's pages.
    case notWiped(reason: String)
    /// Another server that shares the store has encrypted values with a data key that this server
    /// lacks. Pushes wait for a server with the key. Reported once for each key.
    case keyMissing(UInt32)
    /// The keyring's first key does not encrypt yet, because it waits for other servers. Reported
    /// again only if the key, or the list of those servers, has changed.
    case keyWaits(KeyWait)
    /// A key that has waited for other servers now encrypts.
    case keySeals(UInt32)
    /// Other servers encrypt with a key that this server lacks, so this server no longer does any
    /// work. Reported once for each reason.
    case outWithoutKey(reason: String)
    /// A row cannot be read. The store skips this row, so that it does not block other rows.
    case setAside(SetAside)
    /// Too many receipts wait to be written, so the newest were dropped. `inAll` is the number of
    /// all receipts that were dropped since the start.
    case receiptsDropped(inAll: Int)
    /// A checkpoint of the write-ahead log has failed. Reported once for each reason, until a
    /// checkpoint succeeds.
    case checkpointFailed(reason: String)
    /// The write-ahead log has grown to this number of bytes, because a reader does not end or
    /// checkpoints fail. Reported whenever the number has doubled.
    case logIsLong(bytes: Int)
    /// The database's file was shortened by this number of bytes.
    case spaceGivenBack(bytes: Int)
    /// The database's file could not be shortened.
    case spaceNotGivenBack(reason: String)
    /// An older version of the program made the database, so its file never becomes shorter. It is
    /// also too large to be rewritten at the start.
    case fileStaysLong
    /// The only database server that accepts writes lacks data that was stored before. So the
    /// store neither reads nor writes there.
    case databaseRefused(reason: String)
    /// The store has found a suitable database server after it had refused one.
    case databaseTrusted
    /// Operations have failed because the database cannot be used, for example because the
    /// server's role lacks a right. Reported when it begins, and then at most once a minute.
    /// `failures` is the number of operations that have failed since the last report.
    case databaseUnusable(reason: String, failures: Int)
    /// As above, because the database is unavailable.
    case databaseUnavailable(reason: String, failures: Int)
    /// The database can be used again.
    case databaseUsable(failures: Int)
    /// The newest timeline of the database could not be stored on this machine's disk. After a
    /// restart, the server would not notice that a database is on an older timeline.
    case markNotKept(reason: String)

    package enum SetAside: Sendable, Hashable {
        /// The broadcast of this notification was stopped.
        case broadcast(notification: Int64)
        /// This scheduled notification is not sent.
        case scheduled(notification: Int64)
        /// The push to this device has failed.
        case push(notification: Int64, device: Int64)
        /// The outcome of the push to this device is not stored.
        case settlement(notification: Int64, device: Int64)
        /// A receipt of this notification is not stored.
        case receipt(notification: Int64)
    }
}

/// Counts of waiting work and of failures, for metrics.
package struct StoreReport: Sendable, Hashable {
    /// The number of writes whose commit has not ended yet.
    package var waiting = 0
    package var receiptsWaiting = 0
    package var receiptsDropped = 0
    package var setAside = 0
    package var checkpointFailures = 0
    /// The number of bytes of the write-ahead log that are in use.
    package var logBytes = 0
    /// The database's file; `nil` if the store has no file, or has not examined it yet.
    package var file: File?
    /// The transactions of this server; `nil` if the store does not count them.
    package var commits: Commits?
    /// The syncs to the disk; `nil` if a database server makes them.
    package var syncs: Syncs?

    /// The transactions of this server that have written, since its start.
    package struct Commits: Sendable, Hashable {
        /// The number of writes in all these transactions. Writes that wait at the same time share
        /// one transaction.
        package var writes = 0
        /// The times from a transaction's last statement until the transaction is on the disk. If
        /// the database is on a server, these times include the round trip over the network.
        package var times = TimeHistogram()
    }

    /// The times of all syncs since the server's start: how long a call waited until a file's
    /// changes were on the disk.
    package struct Syncs: Sendable, Hashable {
        /// The times of syncs of the write-ahead log. Each commit waits for one sync.
        package var log = TimeHistogram()
        /// The times of syncs of the database's file, during checkpoints.
        package var database = TimeHistogram()

        package init() {}
    }

    /// The file of the database.
    package struct File: Sendable, Hashable {
        package let bytes: Int
        /// The number of bytes in empty pages. The database reuses these pages, or returns them to
        /// the file system.
        package let freeBytes: Int

        package init(bytes: Int, freeBytes: Int) {
            (self.bytes, self.freeBytes) = (bytes, freeBytes)
        }
    }

    package init() {}
}
