package import Foundation
internal import PostgreSQL
package import PushCore
package import PushStore

extension PostgreSQLStore {
    package func record(_ record: AuditRecord) async throws { try await self.write { tx in tx.append(record) } }

    /// Deletes old entries: from one hash chain after the other, and the oldest entries of a chain
    /// first.
    package func trimAudit(before date: Date, limit: Int) async throws -> Int {
        let time = date.milliseconds
        var count = 0
        for row in try await self.read(Self.trimmableChains, time) where count < limit {
            let chain = try row.integer()
            let left = limit - count
            count += try await self.write { [audit] tx in
                // Locks the chain, so that two servers do not trim it at the same time.
                let rows = try await tx.query("select start_number from audit_chain where chain = $1 for update", chain)
                guard let start = try rows.first?.integer(),
                    let last = try await tx.query(Self.lastOld, chain, start, time, left).first
                else { return 0 }
                let link = AuditLink(number: try last.integer("number"), code: try last.data("link"))
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

    // MARK: Reading

    package func auditName(of token: TokenPrefix) -> String { self.audit.name(of: token) }

    /// The audit's entries by time, the newest first. Entries with the same time are in the order
    /// of their numbers.
    package func auditEntries(before number: Int64?, limit: Int) async throws(StoreError) -> [AuditEntry] {
        let time: Int64 =
            if let number {
                try await self.read(Self.timeBefore, number) { try $0.first?.integer() ?? .max }
            } else {
                .max
            }
        return try await self.read(Self.entriesBefore, time, number ?? .max, limit) { rows in
            try rows.map { try self.audit.opened(SealedAuditEntry($0)) }
        }
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

    /// Selects the number of entries that were ever written. If the audit has a single hash chain,
    /// this is also the number of the newest entry.
    package static let lastAudit = """
        select coalesce(sum(number - (chain << \(AuditNumber.placeBits))), 0)::int8 from audit_chain
        """

    /// Checks all hash chains of the audit; returns the first fault.
    package func auditFault() async throws(StoreError) -> Int64? {
        var next: Int64 = 0
        while true {
            guard let chain = try await self.chain(from: next) else { return nil }
            // Hash chains are never deleted, so a gap in their numbers is a fault.
            guard chain.chain == next else { return AuditNumber.start(ofChain: next) }
            if let fault = try await self.fault(in: chain) {
                // `trimAudit` may have deleted the entry meanwhile, which is no fault. In this
                // case the start of the chain has moved, and the chain is checked again.
                guard let now = try await self.chain(from: next), now.start != chain.start else { return fault }
                continue
            }
            next += 1
        }
    }

    private func chain(from number: Int64) async throws(StoreError) -> StoredAuditChain? {
        try await self.read(Self.nextChain, number) { try $0.first.map { try StoredAuditChain($0) } }
    }

    private func fault(in chain: StoredAuditChain) async throws(StoreError) -> Int64? {
        let audit = self.audit
        if let fault = chain.fault(audit) { return fault }
        var link = chain.start
        while link.number < chain.end.number {
            let page = try await self.read(Self.entriesAfter, link.number, chain.end.number) { rows in
                // An entry with a column that cannot be decoded becomes `nil`, and counts as a
                // fault.
                rows.map { try? SealedAuditEntry($0) }
            }
            if page.isEmpty { return link.number + 1 }
            if let fault = audit.fault(in: page, after: &link) { return fault }
        }
        return link == chain.end ? nil : chain.end.number
    }

    static let nextChain = """
        select c.chain, c.start_number, c.start_link, c.start_mac, c.number, c.link, c.mac, (
            select a.number from audit a
            where a.number > c.chain << \(AuditNumber.placeBits) and a.number < (c.chain + 1) << \(AuditNumber.placeBits)
            order by a.number desc limit 1) as last
        from audit_chain c where c.chain >= $1 order by c.chain limit 1
        """

    static let entriesAfter = """
        select number, at, entry, link from audit where number > $1 and number <= $2 order by number limit 500
        """
}

/// A row of `audit_chain`, with the number of the last entry that exists.
struct StoredAuditChain {
    let chain: Int64
    let start: AuditLink
    let end: AuditLink
    private let startMAC: Data
    private let endMAC: Data
    private let last: Int64?

    init(_ row: Row) throws {
        self.chain = try row.integer("chain")
        self.start = AuditLink(number: try row.integer("start_number"), code: try row.data("start_link"))
        self.startMAC = try row.data("start_mac")
        self.end = AuditLink(number: try row.integer("number"), code: try row.data("link"))
        self.endMAC = try row.data("mac")
        self.last = try row.optionalInteger("last")
    }

    /// The fault of a chain whose stored start or end somebody has changed; `nil` if neither was
    /// changed.
    func fault(_ audit: AuditChain) -> Int64? {
        let first = AuditNumber.start(ofChain: self.chain)
        guard self.start.number >= first, self.startMAC == audit.mac(ofStart: self.start) else {
            return first
        }
        let isWhole = self.endMAC == audit.mac(ofEnd: self.end) && (self.last ?? self.start.number) == self.end.number
        return isWhole ? nil : self.end.number
    }
}
