package import Foundation

/// The time at which a credential of the server expires.
package struct CredentialExpiry: Sendable, Hashable {
    /// The key of the credential in the configuration, such as `server.tls.certificate`.
    package let name: String
    package let expiresAt: Date
    /// The time from the beginning to the end of the credential's validity; `nil` if it is
    /// unknown.
    package let lifetime: TimeInterval?

    package init(name: String, expiresAt: Date, lifetime: TimeInterval? = nil) {
        self.name = name
        self.expiresAt = expiresAt
        self.lifetime = lifetime
    }

    /// How long before its end the server begins to warn about the credential: thirty days, or a
    /// quarter of a shorter lifetime.
    ///
    /// Common clients renew a certificate when a third of its lifetime is left. If only a quarter
    /// is left, the renewal has probably failed.
    package var noticePeriod: TimeInterval {
        min(30 * 86_400, self.lifetime.map { $0 / 4 } ?? .infinity)
    }
}
