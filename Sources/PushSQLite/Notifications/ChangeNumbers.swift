internal import Foundation
internal import PushStore
internal import SQLite
internal import Synchronization

/// Assigns numbers to the changes that users see. A reader that knows the number of a change can
/// thus find all later changes.
///
/// Each number is higher than all earlier numbers, even those of earlier processes. Only the
/// writer draws numbers, within its transactions, so changes become visible in the order of their
/// numbers. If a transaction is rolled back, its numbers are not drawn again.
final class ChangeNumbers: Sendable {
    /// How many numbers one process reserves at its start.
    private static let block: Int64 = 1 << 36
    /// The numbers of a process begin at its start time in seconds, shifted left by this number of
    /// bits, or above. No process draws 2^30 numbers per second. So a database that was restored
    /// from a backup draws no number that was already drawn after that backup.
    private static let perSecond = 30

    private let last: Atomic<Int64>

    /// Reserves the numbers for this process. So a change need not write a row to draw its number.
    init(_ db: Database, now: Date) throws {
        let reserved = try db.number("select reserved from change_number") ?? 0
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

    /// Draws the next number, which is higher than all earlier numbers.
    func next() -> Int64 { self.last.wrappingAdd(1, ordering: .relaxed).newValue }

    /// The number that was drawn last.
    var newest: Int64 { self.last.load(ordering: .relaxed) }
}
