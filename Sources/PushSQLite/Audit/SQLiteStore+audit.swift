package import Foundation
package import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    /// Runs `body` in a transaction. If `record` returns a record for the result, appends it to
    /// the audit.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value,
        recording record: @escaping @Sendable (Value) -> AuditRecord?
    ) async throws -> Value {
        try await self.writer.write { [audit] db in
            let value = try body(db)
            if let record = record(value) { try audit.append(record, to: db) }
            return value
        }
    }

    /// Runs `body` in a transaction. If it returns `true`, because it has changed something,
    /// appends `record` to the audit.
    func write(
        by record: AuditRecord?,
        _ body: @escaping @Sendable (Database) throws -> Bool
    ) async throws -> Bool {
        try await self.write(body, recording: { $0 ? record : nil })
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
