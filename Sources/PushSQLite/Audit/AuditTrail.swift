internal import Foundation
internal import PushCore
internal import PushStore
internal import SQLite

/// Appends entries to the audit. An entry is written in the same transaction as the change that it
/// records. So either both are stored, or neither is.
struct AuditTrail: Sendable {
    let chain: AuditChain
    private let notes: TransactionNotes

    init(_ sealing: Sealing, notes: TransactionNotes) {
        self.chain = AuditChain(sealing.vault, sealing.secret)
        self.notes = notes
    }

    func append(_ record: AuditRecord, to db: Database) throws {
        try self.append(self.chain.draft(record), to: db)
    }

    func append(_ records: [AuditRecord?], to db: Database) throws {
        for case let record? in records { try self.append(record, to: db) }
    }

    func append(_ draft: AuditDraft, to db: Database) throws {
        let last = try self.notes.newestAuditEntry ?? Self.last(db) ?? Self.start(db)
        let entry = try self.chain.sealed(draft, after: last)
        try db.run(
            "insert into audit (number, at, entry, link) values (?, ?, ?, ?)",
            entry.link.number,
            entry.at,
            entry.entry,
            entry.link.code
        )
        self.notes.newestAuditEntry = entry.link
    }

    /// Deletes the oldest entries that were written before `date`. Stores the hash of the last
    /// deleted entry, since the hash of the first remaining entry is computed from it.
    ///
    /// Returns the number of deleted entries, at most `limit`.
    func trim(_ db: Database, before date: Date, limit: Int) throws -> Int {
        let last = try db.first(
            """
            select number, link from (select number, link, at from audit order by number limit \(limit))
            where at < \(date.milliseconds) order by number desc limit 1
            """
        ) { try AuditLink($0) }
        guard let last else { return 0 }
        let mac = self.chain.mac(ofStart: last)
        try db.run("update audit_start set number = \(last.number), link = \(last.code), mac = \(mac)")
        return try db.run("delete from audit where number <= ?", last.number)
    }

    /// The number and the hash of the entry before the first remaining entry; `nil` if somebody
    /// has changed them since `trim` stored them.
    func start(_ db: Database) throws -> AuditLink? {
        let start = try db.first("select number, link, mac from audit_start") {
            try (link: AuditLink($0), mac: $0.data("mac"))
        }
        guard let start else { return nil }
        return start.link.number == 0 || start.mac == self.chain.mac(ofStart: start.link) ? start.link : nil
    }

    /// The number and the hash of the entry before the first remaining entry, without a check
    /// whether somebody has changed them.
    static func start(_ db: Database) throws -> AuditLink {
        try db.first("select number, link from audit_start") { try AuditLink($0) }
            ?? AuditLink(number: 0, code: Data())
    }

    /// The link of the newest entry; `nil` if the table is empty.
    static func last(_ db: Database) throws -> AuditLink? {
        try db.first("select number, link from audit order by number desc limit 1") { try AuditLink($0) }
    }
}

extension AuditLink {
    fileprivate init(_ row: borrowing DirectRow) throws {
        self.init(number: try row.integer("number"), code: try row.data("link"))
    }
}
