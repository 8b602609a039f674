package import Foundation
package import PushCore

/// The permissions of a valid token, and its expiry.
package struct TokenGrant: Sendable, Hashable {
    package let prefix: TokenPrefix
    package let scopes: Scopes
    package let expiresAt: Date
    package let usedAt: Date?
    /// Whether the session began with a client certificate or a trusted proxy: it is valid only
    /// together with a certificate or proxy that names its user.
    package let isVouched: Bool
}

/// A token as lists show it.
package struct TokenEntry: Sendable, Hashable {
    package let prefix: TokenPrefix
    package let username: Username
    package let isSession: Bool
    package let scopes: Scopes
    package let createdAt: Date
    package let expiresAt: Date
    package let usedAt: Date?
}

/// A token that was created by signing in.
package struct NewSession: Sendable {
    /// The largest number of sessions of a user.
    package static let maximumCount = 100

    package let token: BearerToken
    /// The user's oldest sessions, which ended because the user had too many.
    package let ended: [Fingerprint]

    package init(token: BearerToken, ended: [Fingerprint]) {
        (self.token, self.ended) = (token, ended)
    }
}
