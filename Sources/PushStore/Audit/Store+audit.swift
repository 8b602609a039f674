package import Foundation
internal import GRDB
internal import PushCore

/// An entry of the audit, in clear.
package struct AuditEntry: Sendable, Hashable {
    /// Counted from 1 without gaps.
    package let number: Int64
    package let at: Date
    package let action: String
    package let subject: String
    package let detail: String
    /// Empty for the operator at the command line.
    package let actor: String
    /// A keyed hash of the token that was shown; empty without one.
    package let token: String
    package let client: String
    package let request: String
}

/// Where the audit was found to be other than it was written.
package struct AuditFault: Sendable, Hashable {
    /// The entry that is changed, moved, or follows one that is missing.
    package let number: Int64
}

extension Reader {
    /// Entries from the newest back, those before `number`; at most `limit`.
    package func audit(_ trail: AuditTrail, before number: Int64?, limit: Int) throws -> [AuditEntry] {
        try self.read { db in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: "select number, at, entry, chain from audit where number < ? order by number desc limit ?"
                ),
                arguments: [number ?? .max, limit]
            ).map(trail.entry)
        }
    }

    /// The number of the newest entry; 0 while there is none.
    package func lastAuditNumber() throws(StoreError) -> Int64 {
        try self.read { try Int64.fetchOne($0, sql: "select max(number) from audit") ?? 0 }
    }

    /// The first place where the audit is not as it was written; `nil` if it is all there. Reads all of it.
    ///
    /// The newest entries may be missing all the same: compare `lastAuditNumber` with what was seen before.
    package func auditFault(_ trail: AuditTrail) throws -> AuditFault? {
        guard var link = try self.read({ try trail.start($0) }) else { return AuditFault(number: 0) }
        while true {
            let rows = try self.read { db in
                try Row.fetchAll(
                    db.cachedStatement(
                        sql: "select number, at, entry, chain from audit where number > ? order by number limit 1000"
                    ),
                    arguments: [link.number]
                )
            }
            if rows.isEmpty { return nil }
            for row in rows {
                guard try row[0] == link.number + 1, trail.isGenuine(row, after: link.chain) else {
                    return AuditFault(number: try row[0])
                }
                link = try AuditLink(number: row[0], chain: row[3])
            }
        }
    }
}

extension Store {
    /// Runs work in a transaction, and adds to the audit what `record` makes of its result, if anything.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
        noting record: @escaping @Sendable (Value) -> AuditRecord?
    ) async throws -> Value {
        try await self.writer.write { [audit] db in
            let value = try body(db)
            if let record = record(value) { try audit.append(record, to: db) }
            return value
        }
    }

    /// The same for work that says whether it did anything.
    func write(
        by record: AuditRecord?,
        _ body: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> Bool {
        try await self.write(body, noting: { $0 ? record : nil })
    }

    /// Deletes the audit's entries from before a time, from the oldest on; returns how many, at most `limit`.
    package func trimAudit(before date: Date, limit: Int) async throws -> Int {
        try await self.writer.write(.housekeeping) { [audit, writer] db in
            let count = try audit.trim(db, before: date, limit: limit)
            if count > 0 { writer.noteErasure() }
            return count
        }
    }
}

/// An entry that the next one is chained to.
struct AuditLink: Sendable, Hashable {
    let number: Int64
    let chain: Data
}
