package import PushCore

/// What a code for enrolment has brought about: a session of its user.
package struct Enrolment: Sendable {
    /// How many codes of a user there are at most; of more the oldest end.
    package static let maximumCount = 10
    /// What begins the column `scopes` of a code, which is a row of `token` with a hash that no token has. Before there were
    /// codes, the word meant nothing.
    package static let mark = "enrol "

    package let user: Username
    package let userID: Int64
    package let scopes: Scopes
    package let session: NewSession

    package init(user: Username, userID: Int64, scopes: Scopes, session: NewSession) {
        self.user = user
        self.userID = userID
        self.scopes = scopes
        self.session = session
    }
}
