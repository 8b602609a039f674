internal import Cryptography
internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

extension Authenticator {
    /// The caller whom a token of the issuer identifies. This method may wait for the issuer's
    /// keys, make the user, or change the user's role and apps according to the token's claims.
    ///
    /// Throws an `invalid-token`, `token-expired`, `account-refused` or `issuer-unavailable`
    /// problem, and `TryLater` after too many invalid tokens.
    func signIn(
        issued text: Substring,
        by issuer: Issuer,
        from origin: PeerAddress?,
        reader: any StoreReader,
        now: Date
    ) async throws -> Caller {
        do {
            let (identity, generation) = try await issuer.identity(in: text)
            let key = self.cache.key(of: Fingerprint(of: text))
            let entry = Entry(identity: identity, generation: generation, key: key, origin: origin, now: now)
            let caller = try await self.caller(entry, rules: issuer.rules, reader: reader)
            self.gate.recordRight(now: now)
            return caller
        } catch let fault as TokenFault {
            self.gate.record(fault, from: origin, now: now)
            if fault.isGuess { throw self.gate.refusal(fault.problem, from: origin, now: now) }
            self.gate.recordWrong(from: origin, now: now)
            throw fault.problem
        }
    }

    /// Whether the caller has no token of the issuer, or a token that is current: it has not
    /// expired by the machine's clock, and the issuer still has the keys with which it was
    /// verified.
    func isCurrent(_ caller: Caller) -> Bool {
        guard let issued = caller.issued else { return true }
        guard let issuer, case let now = issuer.now(), now < issued.expiresAt else { return false }
        return issuer.keys.isCurrent(issued.generation, now: now)
    }

    /// A verified token whose caller is being determined.
    private struct Entry {
        let identity: IssuedIdentity
        let generation: Int
        let key: CredentialCache.Key
        let origin: PeerAddress?
        let now: Date

        /// An audit record of a change that the token causes.
        func record(_ action: AuditRecord.Action, _ detail: String) -> AuditRecord {
            let name = self.identity.name
            let actor = AuditRecord.Actor(
                name: name,
                token: nil,
                client: self.origin?.description ?? "unknown",
                request: ""
            )
            return AuditRecord(
                action,
                of: name.description,
                detail: "\(detail), by the issuer",
                by: actor,
                at: self.now
            )
        }
    }

    /// The result of one step on the way from a token to its caller.
    private enum Step {
        case ready(Caller)
        /// The step has changed something, and the user must be read again.
        case again
    }

    private func caller(_ entry: Entry, rules: IssuerRules, reader: any StoreReader) async throws -> Caller {
        // Three steps suffice if no other server interferes: one makes the user, one changes the
        // rights, and one finds nothing more to do. The fourth step is for the case that another
        // server changes the user meanwhile.
        for _ in 0..<4 {
            if case .ready(let caller) = try await self.step(entry, rules: rules, reader: reader) { return caller }
        }
        throw Problem(.busy, "the user is being changed; try again")
    }

    private func step(_ entry: Entry, rules: IssuerRules, reader: any StoreReader) async throws -> Step {
        let (identity, now) = (entry.identity, entry.now)
        let start = self.moment(of: entry.key)
        guard let user = try await reader.user(named: identity.name) else {
            guard rules.createsUsers else { throw TokenFault.account("there is no user \(identity.name)") }
            let role = identity.rights.role ?? .device
            // The result of `addUser` does not matter: if it is `false`, another request has made
            // the user. The next step connects the account with the issuer's user.
            let (apps, password) = (identity.rights.apps ?? [.usual], PasswordHash.none(self.parameters))
            let user = NewUser(identity.name, role: role, apps: apps, password: password)
            _ = try await self.store.addUser(user, by: entry.record(.addUser, role.rawValue), now: now)
            return .again
        }
        // OpenID Connect Core section 2: the case of letters matters in `sub`. This check comes
        // first, so that a refusal does not reveal the account's state.
        guard identity.name.isSpelled(like: user.name) else {
            throw TokenFault.account("the user of this name differs from \(identity.name) in upper or lower case")
        }
        let (token, stored) = (self.token(of: identity, rules), try await reader.issuedAccount(of: user))
        guard token.isOfOwner(of: stored) else {
            throw TokenFault.account("the user \(identity.name) belongs to another issuer or another sub")
        }
        guard !user.isDisabled else { throw TokenFault.account("the user is disabled") }
        if !rules.includesPasswordUsers {
            guard try await reader.password(of: user)?.isNone == true else {
                throw TokenFault.account("the user has a password of their own")
            }
        }
        guard token.isGood(for: user, stored) else { throw TokenFault.superseded }
        let (role, apps) = (identity.rights.role ?? user.role, identity.rights.apps ?? user.apps)
        let isTaken = stored == token.account && role == user.role && apps == user.apps
        if !isTaken, !token.isOlder(than: stored) {
            if try await self.take(token, for: user, instead: stored, role, apps, entry) { return .again }
        }
        let scopes = token.account.rights.scopes(as: role)
        // This check comes after the rights were stored: a token without scopes must also end the
        // validity of older tokens with scopes.
        guard !scopes.isEmpty else { throw TokenFault.account("the claims give no scope") }
        let grant = IssuedGrant(
            token: token,
            scopes: scopes,
            expiresAt: identity.expiresAt,
            generation: entry.generation
        )
        // The account of the last administrator keeps the role, but a caller with this token has
        // only the role that the token gives.
        let caller = self.caller(user.with(role: role, apps: apps), issued: grant, now: now)
        self.remember(caller, for: entry.key, since: start, now: now)
        return .ready(caller)
    }

    private func token(of identity: IssuedIdentity, _ rules: IssuerRules) -> IssuedToken {
        let subject = identity.subject
        let owner = self.owners.hash(of: subject, at: rules.issuer)
        return IssuedToken(
            IssuedAccount(owner: owner, issuedAt: identity.issuedAt, rights: identity.rights),
            formerOwners: Set(rules.formerIssuers.map { self.owners.hash(of: subject, at: $0) })
        )
    }

    /// Stores the token's rights with the account. Returns `false` if it has stored all rights
    /// except the role, because the user is the last administrator.
    private func take(
        _ token: IssuedToken,
        for user: User,
        instead stored: IssuedAccount?,
        _ role: Role,
        _ apps: Set<AppName>,
        _ entry: Entry
    ) async throws -> Bool {
        let names = apps.sorted().map(\.description).joined(separator: " ")
        let scopes = token.account.rights.scopes(as: role)
        let isNews = stored?.rights != token.account.rights || role != user.role || apps != user.apps
        let record =
            isNews
            ? entry.record(.changeUser, "role \(role.rawValue), apps \(names), scopes \(scopes)") : nil
        func change(to role: Role) async throws -> UserChange {
            var change = AccountChange.nothing
            change.role = role == user.role ? nil : role
            change.apps = apps == user.apps ? nil : apps
            change.issued = token
            return try await self.store.changeUser(user.name, change, by: record, now: entry.now)
        }
        let isLast = try await change(to: role) == .lastAdministrator
        if isLast {
            if stored == token.account, apps == user.apps { return false }
            guard try await change(to: user.role) == .done else { return true }
        }
        if isNews { self.accountChanged(user.name) }
        return !isLast
    }
}

/// Derives the identifiers by which the database knows the users of issuers. All servers of a
/// database derive the same identifiers.
struct IssuedOwners: Sendable {
    private let code: KeyedHash

    init(secret: IndexSecret) {
        self.code = KeyedHash(key: secret.derive("issued owner"))
    }

    /// A keyed hash over the bytes of both texts.
    func hash(of subject: String, at issuer: String) -> Data {
        let hash = self.code.code { hash in
            withUnsafeBytes(of: UInt64(issuer.utf8.count).bigEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: Array(issuer.utf8))
            hash.update(data: Array(subject.utf8))
        }
        return Data(hash.prefix(16))
    }
}

extension User {
    fileprivate func with(role: Role, apps: Set<AppName>) -> User {
        User(
            id: self.id,
            name: self.name,
            role: role,
            apps: apps,
            passwordNumber: self.passwordNumber,
            isDisabled: self.isDisabled
        )
    }
}
