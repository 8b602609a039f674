internal import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLReader {
    package func auditName(of token: TokenPrefix) -> String {
        self.store.audit.name(of: token)
    }

    /// The audit's entries by time, the newest first. Entries with the same time are in the order
    /// of their numbers.
    package func auditEntries(before number: Int64?, limit: Int) async throws(StoreError) -> [AuditEntry] {
        let time: Int64 =
            if let number {
                try await self.read(Self.timeBefore, number) { try $0.first?.integer(0) ?? .max }
            } else {
                .max
            }
        return try await self.read(Self.entriesBefore, time, number ?? .max, limit) { rows in
            try rows.map { try self.store.audit.opened(SealedAuditEntry($0)) }
        }
    }

    /// The number of entries that were ever written. If the audit has a single hash chain, this is
    /// also the number of the newest entry.
    package func lastAuditNumber() async throws(StoreError) -> Int64 {
        try await self.read(Self.entryCount) { try $0.first?.integer(0) ?? 0 }
    }

    /// Selects the time of the entry with this number. For the number of a deleted entry, selects
    /// a time before all others. For a number without an entry so far, selects a time after all
    /// others.
    static let timeBefore = """
        select coalesce(
            (select at from audit where number = $1),
            (select (\(Int64.min))::int8 from audit_chain
                where chain = $1 >> \(AuditNumber.placeBits) and start_number >= $1),
            (\(Int64.max))::int8)
        """

    static let entriesBefore = """
        select \(SealedAuditEntry.Column.list) from audit where (at, number) < ($1, $2)
        order by at desc, number desc limit $3
        """

    static let entryCount = """
        select coalesce(sum(number - (chain << \(AuditNumber.placeBits))), 0)::int8 from audit_chain
        """
}
