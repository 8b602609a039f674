package import Cryptography
package import Foundation

/// A store to be moved. No process writes to it meanwhile.
package protocol MoveSource {
    /// Identifies the database: a keyed hash, 16 bytes.
    var identity: Data { get }

    /// The key of the digests over rows.
    var digestKey: SymmetricKey { get }

    /// Makes and checks the entries of the audit.
    var audit: AuditChain { get }

    /// The place to which the database was moved before, and when; `nil` if it was not.
    var moved: (to: String, at: Date)? { get }

    /// The first place where the audit was changed; `nil` if there is none.
    func auditFault() throws -> AuditFault?

    /// Calls `body` with all rows of a table, page by page, in the order of its key.
    ///
    /// Throws `StoreError.damaged` if a value is not of its column's type.
    func read(_ table: MovedTable, _ body: ([MovedRow]) throws -> Void) throws

    /// The highest number that each numbered column has ever assigned.
    func lastNumbers() throws -> [NumberedColumn: Int64]

    /// Marks the database as moved; no server opens it any more.
    func mark(asMovedTo place: String, at date: Date) async throws
}

/// A database into which a store is moved.
package protocol MoveTarget {
    /// The address, without a password.
    var place: String { get }

    /// Whether a move of this database began here before and did not finish.
    func isUnfinished(_ identity: Data) throws -> Bool

    /// Makes the tables if they are missing, and reserves the database for a move: no server opens
    /// it until `finish`.
    ///
    /// Returns whether a move of the source had begun here before and not finished. Throws
    /// `MoveFailure` if the database holds anything else, or is in use.
    func begin(_ identity: Data, now: Date) throws -> Bool

    /// Deletes all rows of a table, page by page; calls `body` with the count of each page.
    func clear(_ table: MovedTable, _ body: (Int) throws -> Void) throws

    /// Inserts rows of a table.
    func insert(_ rows: [MovedRow], into table: MovedTable) throws

    /// Calls `body` with all rows of a table, page by page, in the order of its key.
    func read(_ table: MovedTable, _ body: ([MovedRow]) throws -> Void) throws

    /// Makes each column of `last` assign only numbers above the one given there.
    func continueNumbers(after last: [NumberedColumn: Int64]) throws

    /// The first place where the moved audit was changed; `nil` if there is none.
    func auditFault(_ audit: AuditChain) throws -> AuditFault?

    /// Lets servers open the database.
    func finish(now: Date) throws
}

/// A column whose numbers the database assigns, each once.
package enum NumberedColumn: Sendable, Hashable, CaseIterable {
    case account, device

    package var table: String {
        switch self {
        case .account: "account"
        case .device: "device"
        }
    }

    package var column: String {
        switch self {
        case .account: "id"
        case .device: "number"
        }
    }
}

/// The reason why a database was not moved, worded for the operator. The source is unchanged.
package struct MoveFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
