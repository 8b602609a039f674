internal import GRDB
internal import Synchronization

/// A read-only view of the database. One thread at a time.
///
/// It keeps its read transaction open from one read to the next, as long as nothing is committed in between: beginning
/// one takes locks that all connections of the process share, and costs more than reading a row does. `Writer` counts
/// its commits, and is the only one who commits, so a read always sees the newest.
package final class Reader: Sendable {
    private let connection: DatabaseQueue
    private let commits: CommitCounter
    /// The count when the open transaction began; touched within the connection's own queue only.
    private let seen = Atomic<UInt64>(CommitCounter.none)

    init(_ connection: DatabaseQueue, commits: CommitCounter) {
        self.connection = connection
        self.commits = commits
    }

    /// Runs reads that all see the newest commit; blocks for as long as they take.
    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        do {
            return try self.connection.unsafeRead { db in
                let newest = self.commits.value
                if self.seen.load(ordering: .relaxed) != newest {
                    try self.endTransaction(db)
                    try db.beginTransaction(.deferred)
                    self.seen.store(newest, ordering: .relaxed)
                }
                return try body(db)
            }
        } catch let error as DatabaseError {
            throw StoreError(error)
        } catch {
            throw .broken(reason: "\(error)")
        }
    }

    /// Ends the open transaction, which would keep the log from being moved into the database. From any thread.
    func release() throws {
        try self.connection.unsafeRead { try self.endTransaction($0) }
    }

    private func endTransaction(_ db: Database) throws {
        self.seen.store(CommitCounter.none, ordering: .relaxed)
        if db.isInsideTransaction { try db.commit() }
    }
}

/// How often has been committed.
final class CommitCounter: Sendable {
    /// A count that never comes.
    static let none = UInt64.max

    private let count = Atomic<UInt64>(0)

    var value: UInt64 { self.count.load(ordering: .acquiring) }

    func increment() {
        self.count.wrappingAdd(1, ordering: .releasing)
    }
}
