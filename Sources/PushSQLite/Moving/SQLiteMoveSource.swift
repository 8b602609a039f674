package import Cryptography
package import Foundation
package import PushCore
package import PushStore
internal import SQLite

/// A store in SQLite whose rows are moved into another database.
///
/// The store stays open during the move, so that no other process can open it. A separate
/// connection reads the rows.
package struct SQLiteMoveSource {
    /// Identifies the database: a keyed hash of 16 bytes.
    package let identity: Data
    /// The key for the digests that compare rows.
    package let digestKey: SymmetricKey
    package let audit: AuditChain
    /// The place of the database that this store was moved into, and the time of that move; `nil`
    /// if it was not moved.
    package let moved: (to: String, at: Date)?

    private let store: SQLiteStore
    private let connection: Connection
    /// A number that is higher than all change numbers that may have been assigned.
    private let reserved: Int64

    init(_ store: SQLiteStore) throws(StoreError) {
        let secret = store.indexSecret
        self.store = store
        self.audit = store.audit.chain
        self.digestKey = secret.derive("move digest")
        self.identity = Data(
            KeyedHash(key: secret.derive("move source")).code { $0.update(data: Data("database".utf8)) }.prefix(16)
        )
        do {
            self.connection = try Connection.readOnly(path: store.path)
            (self.moved, self.reserved) = try self.connection.read { db in
                let moved = try MovedTo.read(db)
                let reserved = try db.number("select reserved from change_number") ?? 0
                return (moved.map { (to: $0.place, at: $0.at) }, reserved)
            }
        } catch {
            throw StoreError(opening: store.path, error)
        }
    }

    package func auditFault() throws -> Int64? { try self.store.makeSQLiteReader().auditFault() }

    /// The number of rows in the table with this name.
    package func count(of table: String) throws -> Int {
        if table == "audit_chain" { return 1 }
        return try self.connection.read { db in
            Int(try db.number("select count(*) from \(sql: MovedTable.source(of: table))") ?? 0)
        }
    }

    /// Calls `body` with all rows of a table, page by page, in the order of the table's key.
    ///
    /// Throws `StoreError.damaged` if the type of a value differs from that of its column.
    package func read(_ table: MovedTable, _ body: ([MovedRow]) throws -> Void) throws {
        do {
            if table.name == "audit_chain" { return try body([self.auditChain(table)]) }
            try self.select(table, body)
        } catch {
            throw StoreError(reading: error) ?? error
        }
    }

    /// For each numbered column, the highest number that it has ever assigned.
    package func lastNumbers() throws -> [NumberedColumn: Int64] {
        try self.connection.read { db in
            var numbers: [NumberedColumn: Int64] = [:]
            for column in NumberedColumn.allCases {
                numbers[column] = try db.number("select seq from sqlite_sequence where name = \(column.table)")
            }
            return numbers
        }
    }

    /// Marks this database as moved. From then on, no server opens it.
    package func mark(asMovedTo place: String, at date: Date) async throws {
        try await self.store.writer.write(.housekeeping) { db in
            _ = try db.run("insert or replace into moved (id, at, place) values (1, \(date.milliseconds), \(place))")
        }
    }

    // MARK: - Private

    private func select(_ table: MovedTable, _ body: ([MovedRow]) throws -> Void) throws {
        guard let sql = table.selection else {
            preconditionFailure("each moved table has a selection, which a test checks")
        }
        try self.connection.read { db in
            var page: [MovedRow] = []
            page.reserveCapacity(table.pageRows)
            // The only possible parameter is `:reserved`.
            let row = try db.rows(SQL(sql: sql), sql.contains(":reserved") ? [self.reserved] : [])
            while try row.step() {
                page.append(try row.values(of: table))
                guard page.count == table.pageRows else { continue }
                try body(page)
                page.removeAll(keepingCapacity: true)
            }
            if !page.isEmpty { try body(page) }
        }
    }

    /// The row of the audit's only hash chain: the start and the end of the chain, and the keyed
    /// hashes of these two.
    private func auditChain(_ table: MovedTable) throws -> MovedRow {
        try self.connection.read { db in
            let start = try AuditTrail.start(db)
            let end = try AuditTrail.last(db) ?? start
            let values: [String: MovedValue] = [
                // The chain belongs to a process with the number 0, which does not exist. So the
                // first process that writes takes the chain over.
                "chain": .integer(0), "node": .integer(0), "number": .integer(end.number), "link": .bytes(end.code),
                "start_number": .integer(start.number), "start_link": .bytes(start.code),
                "start_mac": .bytes(self.audit.mac(ofStart: start)), "mac": .bytes(self.audit.mac(ofEnd: end)),
            ]
            return table.columns.map { values[$0.name] ?? .null }
        }
    }
}

extension DirectRow {
    /// The values of the row. Throws `StoreError.damaged` if the type of a value differs from that
    /// of its column.
    fileprivate borrowing func values(of table: MovedTable) throws -> MovedRow {
        var row: MovedRow = []
        row.reserveCapacity(table.columns.count)
        for (index, column) in table.columns.enumerated() {
            guard let value = self.value(Int32(index), column.kind) else {
                throw StoreError.damaged(row: "\(column.name) of a row of \(table.name)")
            }
            row.append(value)
        }
        return row
    }
}
