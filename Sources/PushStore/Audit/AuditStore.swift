package import Foundation
package import PushCore

/// An entry of the audit, in clear.
package struct AuditEntry: Sendable, Hashable {
    /// Counted from 1 without gaps. If each writer has its own hash chain, each chain counts from
    /// 1.
    package let number: Int64
    package let at: Date
    package let action: String
    package let subject: String
    package let detail: String
    /// Empty for the operator at the command line.
    package let actor: String
    /// A keyed hash of the token that the caller used; empty without one.
    package let token: String
    package let client: String
    package let request: String
}

/// A place where the audit was changed.
package struct AuditFault: Sendable, Hashable {
    /// The entry that was changed or moved, or follows a missing one; 0 if the start of the
    /// audit's hash chain was changed.
    package let number: Int64

    package init(number: Int64) {
        self.number = number
    }
}

/// Reads the audit.
package protocol AuditReader: Sendable {
    /// The name of a token in the audit: a keyed hash of its prefix.
    func auditName(of token: TokenPrefix) -> String

    /// Entries before `number`, newest first; at most `limit`.
    func auditEntries(before number: Int64?, limit: Int) async throws(StoreError) -> [AuditEntry]

    /// The number of the newest entry; if each writer has its own numbers, the count of all
    /// entries ever written. It is 0 if no entry was written.
    func lastAuditNumber() async throws(StoreError) -> Int64

    /// The first place where the audit was changed; `nil` if there is none. Reads the whole audit.
    ///
    /// It does not detect missing newest entries: compare `lastAuditNumber` with a number seen
    /// before.
    func auditFault() async throws(StoreError) -> AuditFault?
}

/// Keeps the audit. Its entries are written in the transactions of the changes that they record,
/// except for changes of files.
package protocol AuditStore: Sendable {
    /// Adds an entry about something outside the store, such as a file.
    func record(_ record: AuditRecord) async throws

    /// Deletes the audit's entries from before a time, oldest first; returns how many, at most
    /// `limit`.
    func trimAudit(before date: Date, limit: Int) async throws -> Int
}
