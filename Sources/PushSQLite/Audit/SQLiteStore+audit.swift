package import Foundation
package import PushCore
internal import PushStore
internal import SQLite

extension SQLiteStore {
    /// Runs work in a transaction, and appends the record that `record` returns for its result, if
    /// any, to the audit.
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

    /// Runs work in a transaction, and appends the record to the audit if the work did anything.
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
