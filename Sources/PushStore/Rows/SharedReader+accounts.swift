package import Foundation
package import PushCore

extension SharedReader {
    /// The owner of the account, who is a user of a token issuer, and the rights of the owner's
    /// newest token. `nil` if nobody has signed in to the account with an issuer's token yet.
    package func issuedAccount(of user: User) async throws(StoreError) -> IssuedAccount? {
        let account: StoredAccount? = try await self.first(Self.accountWithID, .integer(user.id))
        return account?.issued
    }

    /// The sorted tags that were given to the user with this name; `nil` if there is no such user.
    package func tags(ofUser name: Username) async throws(StoreError) -> [Tag]? {
        let account: AccountTags? = try await self.first(Self.accountNamed, .bytes(self.sealing.index.hash(name)))
        return account?.tags
    }

    /// The hash of the user's password. `nil` if the password has been changed, or the user
    /// deleted, since `user` was read.
    package func password(of user: User) async throws(StoreError) -> PasswordHash? {
        let found: StoredPassword? =
            try await self.first(Self.passwordOf, .integer(user.id), .integer(user.passwordNumber))
        return found?.hash
    }

    /// The password hash of the user that `number` selects; `nil` if there are no users. The same
    /// number selects the same user until that user is changed or deleted.
    ///
    /// For a sign-in with an unknown name, the server does as much work as for this hash. So
    /// the duration does not reveal which names exist. Among the selected hashes, each work factor
    /// is as frequent as among all users. If a user is added, some numbers select this user; all
    /// others select the same user as before.
    package func password(chosenBy number: UInt64) async throws(StoreError) -> PasswordHash? {
        guard let last = try await self.number(Self.lastUser) else { return nil }
        let found: StoredPassword? = try await self.first(Self.passwordFrom, .integer(number.bucket(of: last) + 1))
        return found?.hash
    }

    /// Whether any user exists, including users whose rows cannot be read.
    package func hasUsers() async throws(StoreError) -> Bool { try await self.exists(Self.anyUser) }

    /// Users in a fixed order that is not alphabetical: at most `limit` users after `last`.
    package func users(after last: Username?, limit: Int) async throws(StoreError) -> [UserEntry] {
        try await self.all(Self.usersAfter, [.bytes(last.map(self.sealing.index.hash) ?? Data()), .count(limit)])
    }

    /// The user with this name, with the properties that lists of users show.
    package func userEntry(named name: Username) async throws(StoreError) -> UserEntry? {
        try await self.first(Self.entryNamed, .bytes(self.sealing.index.hash(name)))
    }

    /// Whether this enrolment code exists, has not expired, and belongs to a user who is not
    /// disabled.
    package func hasEnrolment(_ code: Fingerprint, now: Date) async throws(StoreError) -> Bool {
        try await self.exists(Self.codeInUse, [.bytes(code.bytes), .date(now)])
    }

    /// The valid tokens of one user or of all users, in the order of their prefixes: at most
    /// `limit` tokens after `last`.
    package func tokens(
        of user: Username?,
        after last: TokenPrefix?,
        limit: Int,
        now: Date
    ) async throws(StoreError) -> [TokenEntry] {
        let values: [StoredValue] = [.date(now), .text(last?.description ?? ""), .count(limit)]
        guard let user else { return try await self.all(Self.allTokens, values) }
        return try await self.all(Self.tokensOfOne, values + [.bytes(self.sealing.index.hash(user))])
    }
}

private struct StoredPassword: StoredEntity {
    let hash: PasswordHash

    init?<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        guard let text = try row.optionalText() else { return nil }
        self.hash = PasswordHash(phc: text)
    }
}

private struct AccountTags: StoredEntity {
    let tags: [Tag]

    init<Row: StoredRow & ~Copyable>(_ row: borrowing Row, _ sealing: Sealing) throws {
        self.tags = try StoredAccount(row).openTags(sealing)
    }
}
