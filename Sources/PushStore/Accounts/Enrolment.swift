package import PushCore

/// The session that a user has begun with an enrolment code.
package struct Enrolment: Sendable {
    /// The maximum number of codes of a user. If there are more, the oldest codes end.
    package static let maximumCount = 10
    /// An enrolment code is stored as a row of `token`, with the code's hash in place of a
    /// token's. The row's column `scopes` begins with this word. Server versions without codes
    /// ignore the word.
    static let mark = "enrol "
    /// The SQL condition that a row of `token` is a code.
    package static let isCode = "scopes like '\(Self.mark)%'"

    package let user: Username
    package let userID: Int64
    package let scopes: Scopes
    package let session: NewSession

    /// The scopes of a session that begins with this code. The parser of scopes has already
    /// dropped unknown words, such as `mark`.
    package static func scopes(of code: TokenGrant, for user: User) -> Scopes {
        code.scopes.intersection(user.role.scopes)
    }

    package init(user: Username, userID: Int64, scopes: Scopes, session: NewSession) {
        (self.user, self.userID, self.scopes, self.session) = (user, userID, scopes, session)
    }
}
