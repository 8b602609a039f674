internal import Foundation
internal import PushStore
internal import SQLite
internal import Synchronization

/// Numbers the changes that users see, so that a reader that has a change's number finds all later
/// changes.
///
/// Each number is higher than all before it, including the numbers of earlier processes. Only the
/// writer draws numbers, within its transactions, so that changes become visible in the order of
/// their numbers. A number whose transaction is rolled back is not drawn again.
final class ChangeNumbers: Sendable {
    /// The numbers that are reserved for one process.
    private static let block: Int64 = 1 << 36
    /// The binary logarithm of how many numbers each second since 1970 has. No process uses that
    /// many, so a database that was restored from a backup draws no number that was drawn after
    /// the backup.
    private static let perSecond = 30

    private let last: Atomic<Int64>

    /// Reserves the numbers of this process, so that a change writes no row for its number.
    init(_ db: Database, now: Date) throws {
        let reserved = try db.first("select reserved from change_number") { $0.integer(0) } ?? 0
        let seconds = Int64(min(max(now.timeIntervalSince1970, 0), Double(UInt32.max)))
        let start = max(reserved, seconds << Self.perSecond)
        let (end, isOver) = start.addingReportingOverflow(Self.block)
        if isOver { throw StoreError.damaged(row: "the reserved number of changes") }
        try db.run(
            """
            insert into change_number (id, reserved) values (1, \(end))
            on conflict (id) do update set reserved = excluded.reserved
            """
        )
        self.last = Atomic(start)
    }

    /// Draws the next number, higher than all before.
    func next() -> Int64 {
        self.last.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// The last number drawn.
    var newest: Int64 { self.last.load(ordering: .relaxed) }
}
