import Cryptography
import Foundation
import PushPostgreSQL
import PushSQLite
import PushStore

/// Moves a store from SQLite to PostgreSQL, table by table. Then compares the rows of the two
/// databases.
///
/// Encrypted values are moved as they are. If the move is interrupted at any point, the same move
/// can start again from the beginning. No server opens the target before the move has ended. Once
/// the source is marked as moved, no server opens the source, either.
struct Move {
    /// The limits of one write: a number of rows, and an approximate number of bytes.
    private static let portionRows = 2000
    private static let portionBytes = 8 << 20

    private let source: SQLiteMoveSource
    private let target: PostgreSQLMoveTarget
    private let report: (MoveProgress) throws -> Void

    /// The move calls `report` from time to time; if `report` throws, the move stops.
    init(
        from source: SQLiteMoveSource,
        to target: PostgreSQLMoveTarget,
        report: @escaping (MoveProgress) throws -> Void
    ) {
        (self.source, self.target, self.report) = (source, target, report)
    }

    /// Moves all rows, and returns their number.
    ///
    /// Throws `MoveFailure` if the target cannot be used, if the source was moved before, or if
    /// its audit was changed. Also throws it if the target's rows differ from the source's at the
    /// end. Rethrows the errors of the source and the target.
    @discardableResult
    func run(now: Date) async throws -> Int {
        if let fault = try self.source.auditFault() {
            throw MoveFailure("the audit was changed from entry \(fault) on; nothing was moved")
        }
        // An earlier move may have been interrupted after it had marked the source, and before it
        // had finished the target. Such a move may begin again.
        if let moved = self.source.moved, try !self.target.isUnfinished(self.source.identity) {
            let day = moved.at.ISO8601Format()
            throw MoveFailure("the database was moved to \(moved.to) on \(day): see docs/operate/postgresql.md")
        }
        let isAgain = try self.target.begin(self.source.identity, now: now)
        let tables = try self.target.tables()
        for table in tables where isAgain || MovedTable.ofEmptyStores.contains(table.name) {
            try self.target.clear(table) { try self.report(.cleared(table: table.name, rows: $0)) }
        }
        let digests = try tables.map { try self.move($0) }
        try self.target.continueNumbers(after: self.source.lastNumbers())
        for (table, digest) in zip(tables, digests) { try self.compare(table, digest) }
        if let fault = try self.target.auditFault(self.source.audit) {
            let place = self.target.place
            throw MoveFailure("the audit in \(place) was changed from entry \(fault) on")
        }
        try self.report(.verified)
        // The source is marked before the target is finished. So at no moment can servers open
        // both databases.
        try await self.source.mark(asMovedTo: self.target.place, at: now)
        try self.report(.marked)
        try self.target.finish(now: now)
        return digests.reduce(0) { $0 + $1.count }
    }

    // MARK: - Private

    private func move(_ table: MovedTable) throws -> RowDigest {
        var digest = RowDigest(key: self.source.digestKey)
        var (waiting, size) = ([MovedRow](), 0)
        try self.report(.began(table: table.name))
        try self.source.read(table) { page in
            digest.add(page)
            for row in page {
                waiting.append(row)
                size += row.reduce(0) { $0 + $1.size }
                guard waiting.count >= Self.portionRows || size >= Self.portionBytes else { continue }
                try self.target.insert(waiting, into: table)
                (waiting, size) = ([], 0)
            }
            try self.report(.moved(table: table.name, rows: digest.count))
        }
        if !waiting.isEmpty { try self.target.insert(waiting, into: table) }
        try self.report(.ended(table: table.name, rows: digest.count))
        return digest
    }

    private func compare(_ table: MovedTable, _ expected: RowDigest) throws {
        var digest = RowDigest(key: self.source.digestKey)
        try self.target.read(table) { page in
            digest.add(page)
            try self.report(.compared(table: table.name, rows: digest.count))
        }
        guard digest.count == expected.count else {
            throw MoveFailure(
                "\(self.target.place) has \(digest.count) rows of \(table.name), the source has \(expected.count)"
            )
        }
        guard digest.value == expected.value else {
            throw MoveFailure("\(self.target.place) has other rows of \(table.name) than the source")
        }
    }
}

/// An event that shows the progress of a move.
enum MoveProgress: Sendable, Hashable {
    /// Rows that an interrupted move had inserted were deleted.
    case cleared(table: String, rows: Int)
    case began(table: String)
    /// This number of the table's rows has been read so far.
    case moved(table: String, rows: Int)
    /// The target now contains all rows of the table.
    case ended(table: String, rows: Int)
    /// This number of rows has been read again, for the comparison.
    case compared(table: String, rows: Int)
    /// The target contains exactly the rows of the source, and the audit in it is unchanged.
    case verified
    /// The source is marked as moved, so that no server opens it.
    case marked
}

/// A keyed hash over rows in their order, and the number of rows. Two tables with equal digests
/// have the same rows.
private struct RowDigest {
    private(set) var count = 0
    private var code: HMAC<SHA256>

    init(key: SymmetricKey) {
        self.code = HMAC(key: key)
    }

    mutating func add(_ rows: [MovedRow]) {
        var bytes: [UInt8] = []
        for row in rows {
            bytes.removeAll(keepingCapacity: true)
            for value in row { Self.append(value, to: &bytes) }
            self.code.update(data: bytes)
        }
        self.count += rows.count
    }

    /// The keyed hash over all rows so far.
    var value: Data { Data(self.code.finalize()) }

    // MARK: - Private

    /// Appends the bytes of a value. They begin with the value's type, and with its length if
    /// lengths vary. So different values have different bytes.
    private static func append(_ value: MovedValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(0)
        case .integer(let number):
            bytes.append(1)
            Swift.withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        case .boolean(let flag): bytes.append(flag ? 3 : 2)
        case .text(let text):
            bytes.append(4)
            Swift.withUnsafeBytes(of: text.utf8.count.bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text.utf8)
        case .bytes(let data):
            bytes.append(5)
            Swift.withUnsafeBytes(of: data.count.bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: data)
        }
    }
}

extension MovedValue {
    /// The approximate number of bytes that the value takes in memory.
    fileprivate var size: Int {
        switch self {
        case .null, .boolean, .integer: 8
        case .text(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        }
    }
}
