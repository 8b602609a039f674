package import Foundation

/// When a credential expires, if that can be known.
package struct CredentialExpiry: Sendable, Hashable {
    /// The configuration's key, such as `server.tls.certificate`.
    package let name: String
    package let expiresAt: Date

    package init(name: String, expiresAt: Date) {
        self.name = name
        self.expiresAt = expiresAt
    }
}
