internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP
internal import Synchronization

extension Authenticator {
    /// The caller with a token of the issuer. May wait for the issuer's keys, make the user, or change the user's role and
    /// apps as the claims say.
    ///
    /// Throws an `invalid-token`, `token-expired`, `account-refused` or `issuer-unavailable` problem, and `TryLater` after too
    /// many that were invalid.
    func signIn(
        issued text: Substring,
        by issuer: Issuer,
        from origin: PeerAddress?,
        reader: any StoreReader,
        now: Date
    ) async throws -> Caller {
        do {
            let (identity, generation) = try await issuer.identity(in: text, now: now)
            let key = self.cache.key(of: Fingerprint(of: text))
            let entry = Entry(identity: identity, generation: generation, key: key, origin: origin, now: now)
            let caller = try await self.caller(entry, rules: issuer.rules, reader: reader)
            self.gate.noteRight(now: now)
            return caller
        } catch let fault as TokenFault {
            if fault.isGuess { throw self.gate.refusal(fault.problem, from: origin, now: now) }
            self.gate.noteWrong(from: origin, now: now)
            throw fault.problem
        }
    }

    /// Whether the issuer's keys, if the caller has shown a token of it, are still those that the token was verified with.
    func isCurrent(_ caller: Caller, now: Date) -> Bool {
        guard let issued = caller.issued else { return true }
        return self.issuer?.keys.isCurrent(issued.generation, now: now) == true
    }

    /// A verified token, on its way to be a caller.
    private struct Entry {
        let identity: IssuedIdentity
        let generation: Int
        let key: CredentialCache.Key
        let origin: PeerAddress?
        let now: Date

        /// An audit record of what the token brings about.
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

    /// What stands between a token and its caller.
    private enum Step {
        case ready(Caller)
        /// Something was changed, and the user must be read again.
        case again
    }

    private func caller(_ entry: Entry, rules: IssuerRules, reader: any StoreReader) async throws -> Caller {
        // It makes the user, changes the rights, and finds nothing more to do; one more for another server's change.
        for _ in 0..<4 {
            if case .ready(let caller) = try await self.step(entry, rules: rules, reader: reader) { return caller }
        }
        throw Problem(.busy, "the account is being changed")
    }

    private func step(_ entry: Entry, rules: IssuerRules, reader: any StoreReader) async throws -> Step {
        let (identity, now) = (entry.identity, entry.now)
        let start = self.moment(of: entry.key)
        guard let user = try await reader.user(named: identity.name) else {
            guard rules.createsUsers else { throw TokenFault.account("there is no account \(identity.name)") }
            let role = identity.role ?? .device
            // `false`: another request has made it.
            _ = try await self.store.addUser(
                identity.name,
                role: role,
                apps: identity.apps ?? [.usual],
                password: .none(self.parameters),
                by: entry.record(.addUser, role.rawValue),
                now: now
            )
            return .again
        }
        // OpenID Connect Core section 2: `sub` is case-sensitive. First, so that the answer hides the account's state.
        guard identity.name.isSpelled(like: user.name) else {
            throw TokenFault.account("the account of this name differs from \(identity.name) in upper or lower case")
        }
        guard !user.isDisabled else { throw TokenFault.account("the account is disabled") }
        if !rules.includesPasswordUsers {
            guard try await reader.password(of: user)?.isNone == true else {
                throw TokenFault.account("the account has a password of its own")
            }
        }
        let (role, apps) = (identity.role ?? user.role, identity.apps ?? user.apps)
        let isLatest = self.issuedTimes.withLock { times in
            let latest = times[user.id]
            times[user.id] = max(latest ?? identity.issuedAt, identity.issuedAt)
            return identity.issuedAt >= latest ?? identity.issuedAt
        }
        if role != user.role || apps != user.apps {
            guard isLatest else { throw TokenFault.superseded }
            if try await self.change(user, to: role, apps, entry) { return .again }
        }
        // The last administrator keeps the role in the account, but not for this token.
        let caller = try self.caller(user.with(role: role, apps: apps), entry)
        self.remember(caller, for: entry.key, since: start, now: now)
        return .ready(caller)
    }

    /// `false`: it is the last administrator, who stays one.
    private func change(_ user: User, to role: Role, _ apps: Set<AppName>, _ entry: Entry) async throws -> Bool {
        let names = apps.sorted().map(\.description).joined(separator: " ")
        let change = try await self.store.changeUser(
            user.name,
            role: role == user.role ? nil : role,
            apps: apps == user.apps ? nil : apps,
            password: nil,
            isDisabled: nil,
            by: entry.record(.changeUser, "role \(role.rawValue), apps \(names)"),
            now: entry.now
        )
        if change == .lastAdministrator { return false }
        self.accountChanged(user.name)
        return true
    }

    private func caller(_ user: User, _ entry: Entry) throws(TokenFault) -> Caller {
        let scopes = entry.identity.scopes?.intersection(user.role.scopes) ?? user.role.usualScopes
        guard !scopes.isEmpty else { throw .account("the claims give no scope") }
        let grant = IssuedGrant(scopes: scopes, expiresAt: entry.identity.expiresAt, generation: entry.generation)
        return self.caller(user, issued: grant, now: entry.now)
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
