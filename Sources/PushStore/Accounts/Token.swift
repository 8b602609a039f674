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

    /// The user and the permissions of a token that a request presents. Throws
    /// `StoreError.damaged` if the row's MAC shows that the store has not written this row.
    package static func used<Row: StoredRow & ~Copyable>(
        _ row: borrowing Row,
        _ token: Fingerprint,
        _ sealing: Sealing
    ) throws -> (user: User, grant: TokenGrant) {
        guard
            try row.integer(TokenColumn.mac) == sealing.rows.token(token, user: try row.integer(UserColumn.id)),
            let prefix = TokenPrefix(try row.text(TokenColumn.prefix)),
            let user = try User(row, sealing)
        else { throw StoreError.damaged(row: "a token's") }
        let grant = TokenGrant(
            prefix: prefix,
            scopes: Scopes(try row.text(TokenColumn.scopes)),
            expiresAt: try row.date(TokenColumn.expiresAt),
            usedAt: try row.optionalDate(TokenColumn.usedAt),
            isVouched: try row.flag(TokenColumn.isVouched)
        )
        return (user, grant)
    }
}

/// A token in the form for lists of tokens.
package struct TokenEntry: StoredEntity, Sendable, Hashable {
    package let prefix: TokenPrefix
    package let username: Username
    package let isSession: Bool
    package let scopes: Scopes
    package let createdAt: Date
    package let expiresAt: Date
    package let usedAt: Date?

    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let prefix = TokenPrefix(try row.text(TokenColumn.prefix)) else { return nil }
        self.prefix = prefix
        self.username = try sealing.username(row.data(UserColumn.name), ofUser: row.integer(UserColumn.id))
        self.isSession = try row.flag(TokenColumn.isSession)
        self.scopes = Scopes(try row.text(TokenColumn.scopes))
        self.createdAt = try row.date(TokenColumn.createdAt)
        self.expiresAt = try row.date(TokenColumn.expiresAt)
        self.usedAt = try row.optionalDate(TokenColumn.usedAt)
    }
}

/// The columns of tokens `t`, which queries select after those of `UserColumn`.
package enum TokenColumn: Int32, SelectedColumn {
    case prefix = 6
    case isSession, scopes, createdAt, expiresAt, usedAt, isVouched, mac

    package static let selected = "\(UserColumn.list), \(Self.list)"

    package var sql: String { "t.\(self.columnName)" }
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

/// The session that a user has begun with an enrolment code.
package struct Enrolment: Sendable {
    /// The maximum number of codes of a user. If there are more, the oldest codes end.
    package static let maximumCount = 10
    /// An enrolment code is stored as a row of `token`, with the code's hash in place of a
    /// token's. Its column `scopes` begins with this word, which versions without codes ignore.
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
