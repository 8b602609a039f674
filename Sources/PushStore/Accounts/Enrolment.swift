package import PushCore

/// The session that a code for enrolment has begun for its user.
package struct Enrolment: Sendable {
    /// The largest number of codes of a user; above it the oldest end.
    package static let maximumCount = 10
    /// The prefix of the column `scopes` of a code, which is a row of `token` with a hash that no
    /// token has. Versions before codes ignore this word.
    static let mark = "enrol "
    /// Whether a row of `token` is a code.
    package static let isCode = "scopes like '\(Self.mark)%'"

    package let user: Username
    package let userID: Int64
    package let scopes: Scopes
    package let session: NewSession

    /// The scopes of the session that a code begins. No scope has a name like the mark, so parsing
    /// has dropped it.
    package static func scopes(of code: TokenGrant, for user: User) -> Scopes {
        code.scopes.intersection(user.role.scopes)
    }

    package init(user: Username, userID: Int64, scopes: Scopes, session: NewSession) {
        (self.user, self.userID, self.scopes, self.session) = (user, userID, scopes, session)
    }
}
