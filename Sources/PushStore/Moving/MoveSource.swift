package import Cryptography
package import Foundation

/// A store that is moved into another database. During the move, no process writes to this store.
package protocol MoveSource {
    /// Identifies the database: a keyed hash of 16 bytes.
    var identity: Data { get }

    /// The key for the digests that compare rows.
    var digestKey: SymmetricKey { get }

    /// Makes and checks the entries of the audit.
    var audit: AuditChain { get }

    /// The place of the database that this store was moved into, and the time of that move; `nil`
    /// if it was not moved.
    var moved: (to: String, at: Date)? { get }

    /// The first place at which somebody has changed the audit; `nil` if nobody has.
    func auditFault() throws -> AuditFault?

    /// Calls `body` with all rows of a table, page by page, in the order of the table's key.
    ///
    /// Throws `StoreError.damaged` if the type of a value differs from that of its column.
    func read(_ table: MovedTable, _ body: ([MovedRow]) throws -> Void) throws

    /// For each numbered column, the highest number that it has ever assigned.
    func lastNumbers() throws -> [NumberedColumn: Int64]

    /// Marks this database as moved. From then on, no server opens it.
    func mark(asMovedTo place: String, at date: Date) async throws
}

/// A database into which a store is moved.
package protocol MoveTarget {
    /// The address of the database, without a password.
    var place: String { get }

    /// Whether a move from the database with this identity has begun here, but has not finished.
    func isUnfinished(_ identity: Data) throws -> Bool

    /// Creates the tables if they are missing, and reserves this database for the move: no server
    /// opens it before `finish`.
    ///
    /// Returns whether a move from the same source had begun here before, but had not finished.
    /// Throws `MoveFailure` if the database contains other data, or if a server uses it.
    func begin(_ identity: Data, now: Date) throws -> Bool

    /// The tables that a move fills, in the order of the move. Call it after `begin`.
    func tables() throws -> [MovedTable]

    /// Deletes all rows of a table, page by page. Calls `body` with the number of rows in each
    /// page.
    func clear(_ table: MovedTable, _ body: (Int) throws -> Void) throws

    /// Inserts rows into a table.
    func insert(_ rows: [MovedRow], into table: MovedTable) throws

    /// Calls `body` with all rows of a table, page by page, in the order of the table's key.
    func read(_ table: MovedTable, _ body: ([MovedRow]) throws -> Void) throws

    /// Makes each numbered column continue above the number in `last`.
    func continueNumbers(after last: [NumberedColumn: Int64]) throws

    /// The first place at which somebody has changed the moved audit; `nil` if nobody has.
    func auditFault(_ audit: AuditChain) throws -> AuditFault?

    /// Ends the reservation, so that servers can open the database.
    func finish(now: Date) throws
}

/// A column whose numbers the database assigns, each of them once.
package enum NumberedColumn: String, Sendable, Hashable, CaseIterable {
    case account, device

    package var table: String { self.rawValue }
    package var column: String { self == .account ? "id" : "number" }
}

/// The reason why a database was not moved, worded for the operator. The source is unchanged.
package struct MoveFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
