package import Foundation
internal import Migrations
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLPlace {
    /// Connects to the database into which a store will be moved, and runs `body`. Blocks until
    /// the database answers. Errors of the database become `StoreError`.
    package func asMoveTarget<Value>(_ body: (PostgreSQLMoveTarget) async throws -> Value) async throws -> Value {
        let target = try self.connected { PostgreSQLMoveTarget($0, place: self.description) }
        do {
            return try await body(target)
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }
}

/// A database into which a store is moved. All functions block until the database answers.
package struct PostgreSQLMoveTarget {
    /// The address of the database, without a password.
    package let place: String
    private let connection: BlockingConnection

    init(_ connection: BlockingConnection, place: String) { (self.connection, self.place) = (connection, place) }

    /// Whether a move from the database with this identity has begun here, but has not finished.
    package func isUnfinished(_ identity: Data) throws -> Bool {
        guard let mark = try MoveMark(self.connection) else { return false }
        return !mark.isFinished && mark.source == identity
    }

    /// Creates the tables if they are missing, and reserves this database for the move: no server
    /// opens it before `finish`.
    ///
    /// Returns whether a move from the same source had begun here before, but had not finished.
    /// Throws `MoveFailure` if the database contains other data, or if a server uses it.
    package func begin(_ identity: Data, now: Date) throws -> Bool {
        try Schema.prepare(self.connection, Migration.allPostgreSQL)
        return try self.connection.transaction {
            // If a server starts now, it waits for the end of this transaction, and then finds
            // the row of `move`.
            _ = try self.connection.query(Schema.schemaLock)
            if let name = try self.connection.query(Self.servers).first?.text() {
                throw self.refusal("a server uses it, \(name): stop it first, or wait some seconds if it has ended")
            }
            if let mark = try MoveMark(self.connection) {
                guard mark.source == identity else {
                    throw self.refusal("another database was moved into it: use an empty one")
                }
                guard !mark.isFinished else {
                    throw self.refusal("the database was moved into it already: set `database` to it")
                }
                return true
            }
            for table in MovedTable.names where !MovedTable.ofEmptyStores.contains(table) {
                if try self.connection.query(MovedTable.finding(table))[0].flag() {
                    throw self.refusal("it is not empty, and has rows in \(table): use an empty one")
                }
            }
            _ = try self.connection.query(MoveMark.begin, identity, now.milliseconds)
            return false
        }
    }

    /// The tables that a move fills, in the order of the move. Call it after `begin`.
    package func tables() throws -> [MovedTable] {
        let rows = try self.connection.query(Self.columns)
        return try MovedTable.names.map { name in
            let own = try rows.filter { try $0.text("table_name") == name }
            let columns = try own.map { row in
                guard let kind = MovedValue.Kind(rawValue: try row.text("kind")) else { throw StoreError.undecodable }
                return MovedTable.Column(name: try row.text("name"), kind: kind)
            }
            return MovedTable(name, columns, keyLength: try own.count { try $0.flag("is_key") })
        }
    }

    /// Deletes all rows of a table, page by page. Calls `body` with the number of rows in each
    /// page.
    package func clear(_ table: MovedTable, _ body: (Int) throws -> Void) throws {
        while true {
            let count = try self.connection.query(table.deletion, Self.clearedRows).changed
            if count == 0 { return }
            try body(count)
        }
    }

    package func insert(_ rows: [MovedRow], into table: MovedTable) throws {
        _ = try self.connection.query(table.insertion, values: table.parameters(rows))
    }

    /// Calls `body` with all rows of a table, page by page, in the order of the table's key.
    package func read(_ table: MovedTable, _ body: ([MovedRow]) throws -> Void) throws {
        var last: MovedRow?
        while true {
            let rows = try self.connection.query(
                table.selection(isBehindKey: last != nil),
                values: [Int64(table.pageRows)] + (last.map(table.keyParameters) ?? [])
            )
            let page = try rows.map { try table.values($0) }
            if page.isEmpty { return }
            try body(page)
            last = page.last
        }
    }

    /// Makes each numbered column continue above the number in `last`.
    package func continueNumbers(after last: [NumberedColumn: Int64]) throws {
        for (column, number) in last where number > 0 {
            _ = try self.connection.query(Self.setNumber, column.table, column.column, number)
        }
    }

    private static let setNumber = "select setval(pg_get_serial_sequence($1, $2)::regclass, $3)"

    /// The number of the first entry of the moved audit that somebody has changed; `nil` if nobody
    /// has changed any.
    package func auditFault(_ audit: AuditChain) throws -> Int64? {
        guard let row = try self.connection.query(PostgreSQLStore.nextChain, Int64(0)).first else {
            return 0
        }
        let chain = try StoredAuditChain(row)
        if let fault = chain.fault(audit) { return fault }
        var link = chain.start
        while link.number < chain.end.number {
            let page = try self.connection.query(PostgreSQLStore.entriesAfter, link.number, chain.end.number)
            if page.count == 0 { return link.number + 1 }
            if let fault = audit.fault(in: try page.map { try SealedAuditEntry($0) }, after: &link) { return fault }
        }
        return link == chain.end ? nil : chain.end.number
    }

    /// Ends the reservation, so that servers can open the database.
    package func finish(now: Date) throws {
        // Updates the planner's statistics. Otherwise queries would be slow until autovacuum
        // analyzes the tables.
        try self.connection.execute("analyze")
        _ = try self.connection.query("update move set finished_at = $1 where id = 1", now.milliseconds)
    }

    // MARK: - Private

    /// The maximum number of rows that one statement deletes.
    private static let clearedRows: Int64 = 10_000

    /// Selects all columns, except those that servers set while they run. The columns of a table's
    /// key come first, in the order of the key.
    private static let columns = """
        select c.relname::text as table_name, a.attname::text as name, format_type(a.atttypid, null) as kind,
            a.attnum = any(i.indkey::int2[]) as is_key
        from pg_class c join pg_index i on i.indrelid = c.oid and i.indisprimary
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        where c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('migration'))
            and not (c.relname = 'account' and a.attname = 'version' or c.relname = 'push' and a.attname = 'owner')
        order by array_position(i.indkey::int2[], a.attnum), a.attnum
        """

    private static let servers = """
        select name from node
        where not is_fenced and until > \(DatabaseClock.now) order by number limit 1
        """

    private func refusal(_ reason: String) -> MoveFailure {
        MoveFailure("nothing was moved to \(self.place): \(reason)")
    }
}

/// The reason why a database was not moved, worded for the operator. The source is unchanged.
package struct MoveFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}

/// The row of the table `move`. It says which database was moved into this database, and whether
/// the move is complete.
struct MoveMark {
    /// Identifies the database that the data comes from.
    let source: Data
    let isFinished: Bool

    /// Reads the row of `move`. `nil` if the database has no such row, or no tables yet.
    init?(_ connection: BlockingConnection) throws {
        guard try connection.has("move"),
            let row = try connection.query("select source, finished_at from move where id = 1").first
        else { return nil }
        self.source = try row.data("source")
        self.isFinished = try row.optionalInteger("finished_at") != nil
    }

    /// Throws `StoreError` if a move into this database has not finished. The caller must first
    /// have called `Schema.holdMigrations`, so that no move begins before the transaction ends.
    static func refuseUnfinished(_ connection: BlockingConnection, _ address: DatabaseAddress) throws {
        guard let mark = try MoveMark(connection), !mark.isFinished else { return }
        throw StoreError.cannotOpen(
            place: address.description,
            reason: "a move into it was interrupted; run sealpost move again, or create a new database"
        )
    }

    static let begin = "insert into move (id, source, begun_at) values (1, $1, $2)"
}
