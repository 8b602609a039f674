package import Foundation
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteStore {
    /// Runs `body` in a transaction. If it returns `outcome`, because it has changed something,
    /// appends `record` to the audit.
    func write<Value: Sendable & Equatable>(
        _ lane: WriterLane = .request,
        by record: AuditRecord?,
        on outcome: Value,
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await self.writer.write(lane) { [audit] db in
            let value = try body(db)
            if value == outcome, let record { try audit.append(record, to: db) }
            return value
        }
    }

    func write(by record: AuditRecord?, _ body: @escaping @Sendable (Database) throws -> Bool) async throws -> Bool {
        try await self.write(by: record, on: true, body)
    }

    package func record(_ record: AuditRecord) async throws {
        try await self.writer.write { [audit] db in try audit.append(record, to: db) }
    }

    package func trimAudit(before date: Date, limit: Int) async throws -> Int {
        try await self.writer.write(.housekeeping) { [audit, writer] db in
            let count = try audit.trim(db, before: date, limit: limit)
            if count > 0 { writer.recordErasure() }
            return count
        }
    }
}

extension SQLiteReader {
    package func auditName(of token: TokenPrefix) -> String { self.audit.chain.name(of: token) }

    package func auditEntries(before number: Int64?, limit: Int) throws(StoreError) -> [AuditEntry] {
        try self.read { db in
            try db.all(
                """
                select number, at, entry, link from audit
                where number < \(number ?? .max) order by number desc limit \(limit)
                """
            ) { try self.audit.chain.opened(SealedAuditEntry($0)) }
        }
    }

    package static let lastAudit = "select max(number) from audit"

    package func auditFault() throws(StoreError) -> Int64? {
        guard var link = try self.read({ try self.audit.start($0) }) else { return 0 }
        while true {
            let entries = try self.read { db in
                try db.all(
                    "select number, at, entry, link from audit where number > \(link.number) order by number limit 1000"
                ) { try SealedAuditEntry($0) as SealedAuditEntry? }
            }
            if entries.isEmpty { return nil }
            if let fault = self.audit.chain.fault(in: entries, after: &link) { return fault }
        }
    }
}
