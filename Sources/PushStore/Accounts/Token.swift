package import Foundation
package import PushCore

/// The permissions of a valid token, and its expiry.
package struct TokenGrant: Sendable, Hashable {
    package let prefix: TokenPrefix
    package let scopes: Scopes
    package let expiresAt: Date
    package let usedAt: Date?
    /// Whether the session began with a client certificate or through a trusted proxy. Such a
    /// token is valid only if a certificate or a proxy names the same user in the request.
    package let isVouched: Bool
}

/// A token in the form for lists of tokens.
package struct TokenEntry: Sendable, Hashable {
    package let prefix: TokenPrefix
    package let username: Username
    package let isSession: Bool
    package let scopes: Scopes
    package let createdAt: Date
    package let expiresAt: Date
    package let usedAt: Date?
}

/// A token that was issued at a sign-in.
package struct NewSession: Sendable {
    /// The maximum number of sessions of a user.
    package static let maximumCount = 100

    package let token: BearerToken
    /// The user's oldest sessions, which have ended because the user had more than the maximum.
    package let ended: [Fingerprint]

    package init(token: BearerToken, ended: [Fingerprint]) {
        (self.token, self.ended) = (token, ended)
    }
}
