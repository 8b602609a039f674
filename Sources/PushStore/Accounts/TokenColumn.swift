internal import Foundation
package import PushCore

/// The columns of a token, which queries select after those of `UserColumn`. These queries name
/// the table of tokens `t`.
package enum TokenColumn: Int32, SelectedColumn {
    case prefix = 6
    case isSession, scopes, createdAt, expiresAt, usedAt, isVouched, mac

    package static let selected = "\(UserColumn.list), \(Self.list)"

    package var sql: String { "t.\(self.columnName)" }
}

extension TokenGrant {
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

extension TokenEntry: StoredEntity {
    package init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let prefix = TokenPrefix(try row.text(TokenColumn.prefix)) else { return nil }
        self.init(
            prefix: prefix,
            username: try sealing.username(row.data(UserColumn.name), ofUser: row.integer(UserColumn.id)),
            isSession: try row.flag(TokenColumn.isSession),
            scopes: Scopes(try row.text(TokenColumn.scopes)),
            createdAt: try row.date(TokenColumn.createdAt),
            expiresAt: try row.date(TokenColumn.expiresAt),
            usedAt: try row.optionalDate(TokenColumn.usedAt)
        )
    }
}
