internal import Foundation
package import PushCore
package import PushStore
internal import SQLite

/// A read-only view of the database, for one thread at a time.
///
/// A read transaction stays open from one read to the next, until another transaction is
/// committed. The begin of a transaction takes locks that all connections of the process share,
/// and costs more than reading a row. Only `Writer` commits, and it counts its commits. So each
/// read can check that it sees the newest commit.
package final class SQLiteReader: StoreReader, ImmediateReader {
    private let connection: Connection
    private let log: LogLength
    private let condition: StoreCondition
    package let sealing: Sealing
    let changes: ChangeNumbers
    let removals: RemovalClock
    let audit: AuditTrail
    /// This lock guards all properties below. A `Mutex` cannot guard them, since they are not
    /// `Sendable`.
    private let lock = NSLock()
    /// The number of commits at the moment when the open transaction began; `nil` if none is open.
    nonisolated(unsafe) private var seen: Int?
    /// The compiled direct queries, by their raw values. They run without `exclusively`: the lock
    /// is held, and only this reader uses the connection.
    nonisolated(unsafe) private let direct: [Statement]

    init(_ connection: Connection, of store: SQLiteStore) throws {
        self.connection = connection
        (self.log, self.condition) = (store.writer.log, store.writer.condition)
        self.sealing = store.sealing
        self.changes = store.changes
        self.removals = store.removals
        self.audit = store.audit
        self.direct = try connection.exclusively { db in
            try DirectQuery.allCases.map { try db.makeStatement(sql: $0.sql) }
        }
    }

    package var fetchReader: FetchReader { .immediate(self) }

    package func all<Entity: StoredEntity>(_ sql: String, _ values: [StoredValue]) throws(StoreError) -> [Entity] {
        try self.read { db in
            var entities: [Entity] = []
            let row = try db.rows(SQL(sql: sql), values.map(\.parameter))
            while try row.step() {
                if let entity = try Entity(row, self.sealing) { entities.append(entity) }
            }
            return entities
        }
    }

    /// Runs reads that all see the newest commit. Blocks the thread while they run.
    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        try self.locked {
            try self.connection.exclusively { db in
                try self.renewTransaction(db)
                return try body(db)
            }
        }
    }

    /// Runs direct queries that all see the newest commit. Blocks the thread while they run.
    func readDirectly<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        try self.locked {
            if self.seen != self.log.commits { try self.connection.exclusively(self.renewTransaction) }
            return try body()
        }
    }

    /// The rows of a direct query. If there is a key, it is the first parameter. Call it within
    /// `readDirectly`.
    func rows(_ query: DirectQuery, key: Fingerprint? = nil, _ parameters: Int64...) throws -> DirectRow {
        try self.direct[query.rawValue].rows(key: key, parameters)
    }

    /// Ends the open read transaction, which would prevent a complete checkpoint. Blocks further
    /// reads until `release`.
    ///
    /// Any thread may call this function; the same thread must then call `release`. Returns
    /// `false`, and changes nothing, if a running read does not end soon.
    func hold() -> Bool {
        guard self.lock.lock(before: Date() + Self.moment) else { return false }
        do {
            try self.connection.exclusively { try self.endTransaction($0) }
            return true
        } catch {
            self.lock.unlock()
            return false
        }
    }

    /// Allows reads again after `hold`.
    func release() { self.lock.unlock() }

    // MARK: - Private

    /// The maximum time in seconds that `hold` waits for a running read. A fetch takes less time.
    /// A report (such as a list of failed pushes) may take longer: then `hold` gives up, and the
    /// writer's callers have waited for nothing.
    private static let moment = 0.005

    private func locked<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        do {
            self.lock.lock()
            defer { self.lock.unlock() }
            return try body()
        } catch {
            let failure = StoreError(reading: error) ?? .failed(reason: "\(type(of: error))")
            self.condition.record(failure)
            throw failure
        }
    }

    private func renewTransaction(_ db: Database) throws {
        let newest = self.log.commits
        guard self.seen != newest else { return }
        try self.endTransaction(db)
        try db.run("begin")
        self.seen = newest
    }

    private func endTransaction(_ db: Database) throws {
        self.seen = nil
        if db.isInsideTransaction { try db.run("commit") }
    }
}

extension StoredValue {
    fileprivate var parameter: any Bindable {
        switch self {
        case .integer(let number): number
        case .text(let text): text
        case .bytes(let bytes): bytes
        case .integers(let numbers): numbers.json
        }
    }
}
