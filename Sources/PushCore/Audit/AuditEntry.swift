package import Foundation

/// An entry of the audit, decrypted.
package struct AuditEntry: Sendable, Hashable {
    /// The number of the entry, counted from 1 without gaps. If each writer has its own hash
    /// chain, each chain counts from 1.
    package let number: Int64
    package let at: Date
    package let action: String
    package let subject: String
    package let detail: String
    /// The name of the user who made the change; empty for the operator at the command line.
    package let actor: String
    /// A keyed hash of the token that the caller used; empty if the caller used no token.
    package let token: String
    package let client: String
    package let request: String
}
