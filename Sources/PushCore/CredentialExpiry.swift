package import Foundation

/// When a credential expires, if that can be known.
package struct CredentialExpiry: Sendable, Hashable {
    /// The configuration's key, such as `server.tls.certificate`.
    package let name: String
    package let expiresAt: Date
    /// The time from the start of its validity to the end; `nil` if that is unknown.
    package let lifetime: TimeInterval?

    package init(name: String, expiresAt: Date, lifetime: TimeInterval? = nil) {
        self.name = name
        self.expiresAt = expiresAt
        self.lifetime = lifetime
    }

    /// The time before the end in which the credential is worth a warning: thirty days, or a
    /// quarter of a shorter lifetime.
    ///
    /// Common clients renew a certificate when a third of its lifetime is left. If only a quarter
    /// is left, the renewal has failed.
    package var noticePeriod: TimeInterval {
        min(30 * 86_400, self.lifetime.map { $0 / 4 } ?? .infinity)
    }
}
