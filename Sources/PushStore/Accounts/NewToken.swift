package import Foundation
package import PushCore

/// A token that a caller requests.
package struct NewToken: Sendable {
    package let scopes: Scopes
    /// Whether the user has signed in with a certificate or through a trusted proxy.
    package let isVouched: Bool
    package let createdAt: Date
    package let expiresAt: Date

    package init(_ scopes: Scopes, isVouched: Bool = false, now: Date, expiresAt: Date) {
        (self.scopes, self.isVouched, self.createdAt, self.expiresAt) = (scopes, isVouched, now, expiresAt)
    }
}

/// The values of a row of `token` that a store inserts. The store itself draws the random token.
package struct TokenRow: Sendable {
    package let user: Int64
    package let isSession: Bool
    package let token: NewToken
    /// The value of the column `scopes`.
    package let scopes: String

    package init(for user: Int64, isSession: Bool, _ token: NewToken) {
        (self.user, self.isSession, self.token, self.scopes) = (user, isSession, token, token.scopes.description)
    }

    /// An enrolment code, which ends whenever the user's sessions end.
    package init(codeFor user: User, _ token: NewToken) {
        (self.user, self.isSession, self.token) = (user.id, true, token)
        self.scopes = Enrolment.mark + token.scopes.description
    }
}
