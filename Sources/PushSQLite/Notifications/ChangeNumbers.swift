internal import Foundation
internal import GRDB
internal import PushStore
internal import Synchronization

/// Numbers the changes of what users see, so that whoever knows the number of one finds all that came after it.
///
/// Each is higher than all before it, also than those of earlier processes. Only the writer asks for them, within its
/// transactions, so that changes become visible in the order of their numbers. One that is lost with its transaction is
/// not given out again.
final class ChangeNumbers: Sendable {
    /// How many one process may need.
    private static let block: Int64 = 1 << 36
    /// Numbers for each second since 1970, more than any process uses: so a database that was put back from a backup
    /// does not give out again what the lost one has given out since.
    private static let perSecond = 30

    private let last: Atomic<Int64>

    /// Reserves the numbers of this process, so that a change costs no row for its number.
    init(_ db: Database, now: Date) throws {
        let reserved = try Int64.fetchOne(db, sql: "select reserved from change_number") ?? 0
        let seconds = Int64(min(max(now.timeIntervalSince1970, 0), Double(UInt32.max)))
        let start = max(reserved, seconds << Self.perSecond)
        let (end, isOver) = start.addingReportingOverflow(Self.block)
        if isOver { throw StoreError.damaged(row: "the reserved number of changes") }
        try db.execute(
            sql: """
                insert into change_number (id, reserved) values (1, ?1)
                on conflict (id) do update set reserved = excluded.reserved
                """,
            arguments: [end]
        )
        self.last = Atomic(start)
    }

    /// Another number, higher than all before.
    func next() -> Int64 {
        self.last.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// The last one that was given out.
    var newest: Int64 { self.last.load(ordering: .relaxed) }
}
