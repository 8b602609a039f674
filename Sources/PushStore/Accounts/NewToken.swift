package import Foundation
package import PushCore

/// The values of a row of `token` that a store inserts. The store itself draws the random token.
package struct NewToken: Sendable {
    package let user: Int64
    package let isSession: Bool
    package let isVouched: Bool
    /// The value of the column `scopes`.
    package let scopes: String
    package let createdAt: Date
    package let expiresAt: Date

    package init(
        for user: Int64,
        isSession: Bool,
        isVouched: Bool = false,
        scopes: Scopes,
        now: Date,
        expiresAt: Date
    ) {
        (self.user, self.isSession, self.isVouched) = (user, isSession, isVouched)
        (self.scopes, self.createdAt, self.expiresAt) = (scopes.description, now, expiresAt)
    }

    /// An enrolment code, which ends whenever the user's sessions end.
    package init(codeFor user: User, scopes: Scopes, now: Date, expiresAt: Date) {
        (self.user, self.isSession, self.isVouched) = (user.id, true, false)
        (self.scopes, self.createdAt, self.expiresAt) = (Enrolment.mark + scopes.description, now, expiresAt)
    }
}
