internal import Crypto
internal import Foundation
internal import GRDB
internal import PushCore
internal import PushStore

/// Appends to the audit, in the transaction of the recorded work, so that neither is stored without the other.
///
/// An entry is sealed text. Each has a keyed hash over itself and the hash before it: changing an entry, or removing
/// one from the middle, breaks the chain, which cannot be repaired without the key.
struct AuditTrail: Sendable {
    private static let separator: Character = "\t"

    private let vault: Vault
    private let key: SymmetricKey
    private let notes: TransactionNotes

    init(vault: Vault, key: SymmetricKey, notes: TransactionNotes) {
        self.vault = vault
        self.key = key
        self.notes = notes
    }

    /// The name of a token in the audit: a keyed hash of its prefix.
    func name(of token: TokenPrefix) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Data("token \(token)".utf8), using: self.key)
        let digits = Array("0123456789abcdef".utf8)
        let bytes = code.prefix(8).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A record as the text of its entry, made before the writer runs.
    struct Draft {
        let at: Int64
        let text: Data
    }

    func draft(_ record: AuditRecord) -> Draft {
        Draft(at: record.at.milliseconds, text: Data(self.text(of: record).utf8))
    }

    func append(_ record: AuditRecord, to db: Database) throws {
        try self.append(self.draft(record), to: db)
    }

    func append(_ draft: Draft, to db: Database) throws {
        let last = try self.notes.newestAuditEntry ?? self.last(db)
        let number = last.number + 1
        let chain = self.chain(last.chain, number: number, at: draft.at, text: draft.text)
        try db.run(
            prepared: "insert into audit (number, at, entry, chain) values (?, ?, ?, ?)",
            number,
            draft.at,
            try self.vault.seal(draft.text, in: .audit(number)),
            chain
        )
        self.notes.newestAuditEntry = AuditLink(number: number, chain: chain)
    }

    /// Deletes the oldest entries, those before a time, and stores the link that the first remaining one is chained to.
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
        let link = try AuditLink(number: last[0], chain: last[1])
        try db.execute(
            sql: "update audit_start set number = ?, chain = ?, mac = ?",
            arguments: [link.number, link.chain, self.mac(ofStart: link)]
        )
        try db.execute(sql: "delete from audit where number <= ?", arguments: [link.number])
        return db.changesCount
    }

    /// The link that the first entry is chained to; `nil` if it is not as `trim` wrote it.
    func start(_ db: Database) throws -> AuditLink? {
        guard let row = try Row.fetchOne(db, sql: "select number, chain, mac from audit_start") else { return nil }
        let link = try AuditLink(number: row[0], chain: row[1])
        return try link.number == 0 || row[2] == self.mac(ofStart: link) ? link : nil
    }

    /// Opens a row of `number, at, entry, chain`.
    func entry(_ row: Row) throws -> AuditEntry {
        let number: Int64 = try row[0]
        let text = try self.vault.open(try row[2], in: .audit(number))
        let fields = String(decoding: text, as: UTF8.self)
            .split(separator: Self.separator, omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 7 else { throw VaultError.unreadable }
        return AuditEntry(
            number: number,
            at: Date(milliseconds: try row[1]),
            action: fields[0],
            subject: fields[1],
            detail: fields[2],
            actor: fields[3],
            token: fields[4],
            client: fields[5],
            request: fields[6]
        )
    }

    /// Whether a row of `number, at, entry, chain` is as it was appended after the entry with the hash `previous`.
    func isGenuine(_ row: Row, after previous: Data) -> Bool {
        do {
            let number: Int64 = try row[0]
            let text = try self.vault.open(try row[2], in: .audit(number))
            return try self.chain(previous, number: number, at: row[1], text: text) == row[3]
        } catch {
            return false
        }
    }

    // MARK: - Private

    private func last(_ db: Database) throws -> AuditLink {
        let newest = try db.first(prepared: "select number, chain from audit order by number desc limit 1") {
            AuditLink(number: $0.integer(0), chain: $0.data(1))
        }
        if let newest { return newest }
        return try db.first(prepared: "select number, chain from audit_start") {
            AuditLink(number: $0.integer(0), chain: $0.data(1))
        } ?? AuditLink(number: 0, chain: Data())
    }

    private func mac(ofStart link: AuditLink) -> Data {
        self.chain(link.chain, number: link.number, at: 0, text: Data("start".utf8))
    }

    /// No field has a separator: names, ids and addresses have none, and details are ours.
    private func text(of record: AuditRecord) -> String {
        let actor = record.actor
        let fields = [
            record.action.rawValue, record.subject, record.detail, actor.name?.description ?? "",
            actor.token.map(self.name) ?? "", actor.client, actor.request,
        ]
        return fields.joined(separator: String(Self.separator))
    }

    private func chain(_ previous: Data, number: Int64, at: Int64, text: Data) -> Data {
        var code = HMAC<SHA256>(key: self.key)
        code.update(data: previous)
        withUnsafeBytes(of: number.bigEndian) { code.update(data: $0) }
        withUnsafeBytes(of: at.bigEndian) { code.update(data: $0) }
        code.update(data: text)
        return Data(code.finalize())
    }
}
