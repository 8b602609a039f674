package import Foundation
internal import PostgreSQL
package import PushCore
internal import PushStore

extension PostgreSQLStore {
    package func record(_ record: AuditRecord) async throws { try await self.write { tx in tx.append(record) } }

    /// Deletes old entries: from one hash chain after the other, and the oldest entries of a chain
    /// first.
    package func trimAudit(before date: Date, limit: Int) async throws -> Int {
        let time = date.milliseconds
        var count = 0
        for row in try await self.read(Self.trimmableChains, time) where count < limit {
            let chain = try row.integer(0)
            let left = limit - count
            count += try await self.write { [audit] tx in
                // Locks the chain, so that two servers do not trim it at the same time.
                let rows = try await tx.query("select start_number from audit_chain where chain = $1 for update", chain)
                guard let start = try rows.first?.integer(0),
                    let last = try await tx.query(Self.lastOld, chain, start, time, left).first
                else { return 0 }
                let link = AuditLink(number: try last.integer(0), code: try last.data(1))
                _ = try await tx.query(Self.moveStart, chain, link.number, link.code, audit.mac(ofStart: link))
                return try await tx.query(Self.deleteEntries, start, link.number).changed
            }
        }
        return count
    }

    /// Selects the hash chains whose oldest entry is older than the time `$1`.
    static let trimmableChains = """
        select c.chain from audit_chain c
        where (
            select a.at from audit a where a.number > c.start_number and a.number <= c.number order by a.number limit 1
        ) < $1
        order by c.chain
        """

    private static let moveStart =
        "update audit_chain set start_number = $2, start_link = $3, start_mac = $4 where chain = $1"
    private static let deleteEntries = "delete from audit where number > $1 and number <= $2"

    /// Selects the last old entry among the first `$4` entries of a hash chain; all entries up to
    /// it are deleted. Some of them may be a little newer than the time `$3`, since the entries'
    /// numbers are not exactly in the order of their times.
    static let lastOld = """
        select number, link from (
            select a.number, a.link, a.at from audit a
            where a.number > $2 and a.number < ($1 + 1) << \(AuditNumber.placeBits) order by a.number limit $4) o
        where at < $3 order by number desc limit 1
        """
}
