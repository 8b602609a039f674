package import PushCore

/// The session that a code for enrolment has begun for its user.
package struct Enrolment: Sendable {
    /// The largest number of codes of a user; above it the oldest codes end.
    package static let maximumCount = 10
    /// A code is a row of `token` with a hash that no token has; its column `scopes` begins with
    /// this prefix. Versions without codes ignore the word.
    static let mark = "enrol "
    /// Whether a row of `token` is a code.
    package static let isCode = "scopes like '\(Self.mark)%'"

    package let user: Username
    package let userID: Int64
    package let scopes: Scopes
    package let session: NewSession

    /// The scopes of the session that a code begins. The parser of scopes drops unknown words,
    /// such as `mark`.
    package static func scopes(of code: TokenGrant, for user: User) -> Scopes {
        code.scopes.intersection(user.role.scopes)
    }

    package init(user: Username, userID: Int64, scopes: Scopes, session: NewSession) {
        (self.user, self.userID, self.scopes, self.session) = (user, userID, scopes, session)
    }
}
