internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Appends to the audit, in the transaction of the recorded work, so that neither is stored
/// without the other.
struct AuditTrail: Sendable {
    let chain: AuditChain
    private let notes: TransactionNotes

    init(_ sealing: Sealing, notes: TransactionNotes) {
        self.chain = AuditChain(sealing.vault, sealing.secret)
        self.notes = notes
    }

    /// The name of a token in the audit: a keyed hash of its prefix.
    func name(of token: TokenPrefix) -> String { self.chain.name(of: token) }

    func draft(_ record: AuditRecord) -> AuditDraft { self.chain.draft(record) }

    func append(_ record: AuditRecord, to db: Database) throws {
        try self.append(self.draft(record), to: db)
    }

    func append(_ draft: AuditDraft, to db: Database) throws {
        let entry = try self.chain.sealed(draft, after: try self.notes.newestAuditEntry ?? self.last(db))
        try db.run(
            prepared: "insert into audit (number, at, entry, chain) values (?, ?, ?, ?)",
            entry.link.number,
            entry.at,
            entry.entry,
            entry.link.code
        )
        self.notes.newestAuditEntry = entry.link
    }

    /// Deletes the oldest entries, written before a time, and stores the link that the first
    /// remaining entry is chained to.
    ///
    /// Returns the number of deleted entries, at most `limit`.
    func trim(_ db: Database, before date: Date, limit: Int) throws -> Int {
        let last = try Row.fetchOne(
            db.cachedStatement(
                sql: """
                    select number, chain, count(*) over () from (
                        select number, chain, at from audit order by number limit ?2)
                    where at < ?1 order by number desc limit 1
                    """
            ),
            arguments: [date.milliseconds, limit]
        )
        guard let last else { return 0 }
        let link = try AuditLink(number: last[0], code: last[1])
        try db.execute(
            sql: "update audit_start set number = ?, chain = ?, mac = ?",
            arguments: [link.number, link.code, self.chain.mac(ofStart: link)]
        )
        try db.execute(sql: "delete from audit where number <= ?", arguments: [link.number])
        return db.changesCount
    }

    /// The link that the first entry is chained to; `nil` if it was changed after `trim` wrote it.
    func start(_ db: Database) throws -> AuditLink? {
        guard let row = try Row.fetchOne(db, sql: "select number, chain, mac from audit_start") else { return nil }
        let link = try AuditLink(number: row[0], code: row[1])
        return try link.number == 0 || row[2] == self.chain.mac(ofStart: link) ? link : nil
    }

    private func last(_ db: Database) throws -> AuditLink {
        let newest = try db.first(prepared: "select number, chain from audit order by number desc limit 1") {
            AuditLink(number: $0.integer(0), code: $0.data(1))
        }
        if let newest { return newest }
        return try db.first(prepared: "select number, chain from audit_start") {
            AuditLink(number: $0.integer(0), code: $0.data(1))
        } ?? AuditLink(number: 0, code: Data())
    }
}

extension SealedAuditEntry {
    /// Reads a row of `number, at, entry, chain`.
    init(_ row: Row) throws {
        self.init(at: try row[1], entry: try row[2], link: AuditLink(number: try row[0], code: try row[3]))
    }
}
