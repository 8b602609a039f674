package import Foundation
package import PushCore

/// Reads the audit.
package protocol AuditReader: SharedReader {
    /// The name that the audit uses for a token: a keyed hash of the token's prefix.
    func auditName(of token: TokenPrefix) -> String

    /// The entries before `number`, the newest first; at most `limit` entries.
    func auditEntries(before number: Int64?, limit: Int) async throws(StoreError) -> [AuditEntry]

    /// The number of the first entry that somebody has changed or moved, or that follows a missing
    /// entry; `nil` if there is no such entry. It is 0 if the start of the audit's hash chain was
    /// changed. Reads the whole audit.
    ///
    /// This check cannot detect that the newest entries are missing. To detect that, compare
    /// `lastAuditNumber` with a number that was seen before.
    func auditFault() async throws(StoreError) -> Int64?
}

/// Writes the audit. A change and the entry that records it are written in the same transaction,
/// except for changes of files.
package protocol AuditStore: Sendable {
    /// Adds an entry about a change outside the store, such as a change of a file.
    func record(_ record: AuditRecord) async throws

    /// Deletes the audit's entries before a time, the oldest first, at most `limit` entries;
    /// returns the number of deleted entries.
    func trimAudit(before date: Date, limit: Int) async throws -> Int
}
