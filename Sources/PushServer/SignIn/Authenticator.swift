internal import Cryptography
internal import Foundation
package import Logging
internal import PushAPI
package import PushCore
package import PushStore
internal import SocketHTTP
internal import Synchronization

/// Identifies the caller of a request: the only place where credentials are checked.
package final class Authenticator: Sendable {
    /// The use of a token is stored at most once in this number of seconds.
    private static let useInterval: TimeInterval = 300

    let store: any AccountStore & TokenStore & KeyStore
    /// The issuer whose tokens the server accepts in addition to its own; `nil` if it accepts only
    /// its own.
    let issuer: Issuer?
    let cache = CredentialCache()
    /// The lease during which cached credentials are trusted; `nil` if no other server can end
    /// credentials, so that they are always valid.
    private let lease: CredentialLease?
    let pool: HashingPool
    /// Guards each check of credentials that are not cached.
    let gate: SignInGuard
    let quotas: Quotas
    /// The quotas of requests that may store something.
    let changes: Quotas
    let accounts: AccountIDs
    /// The parameters of new password hashes. A sign-in replaces a weaker hash by one with these
    /// parameters.
    let parameters: PasswordParameters
    /// The users for whom a stronger hash is being computed.
    let strengthening = Mutex<Set<Int64>>([])
    /// Hashes the identifiers that issuers have for the owners of accounts.
    let owners: IssuedOwners
    /// Picks an existing user for each unknown name, so that checking an unknown name takes as
    /// long as checking that user's password hash.
    let nameCode: KeyedHash

    /// Creates an authenticator. `servers` is the number of servers that share the quotas and the
    /// limits of sign-ins.
    package init(
        store: any Store,
        parameters: PasswordParameters,
        workers: Int,
        quotas: [Role: Quota],
        servers: ServerCount = ServerCount(),
        issuer: Issuer? = nil,
        logger: Logger
    ) {
        self.store = store
        self.issuer = issuer
        self.lease = store.cluster?.lease
        self.pool = HashingPool(workers: workers)
        self.quotas = Quotas(quotas, servers: servers)
        self.owners = IssuedOwners(secret: store.indexSecret)
        self.changes = Quotas(quotas, kind: .changes, servers: servers)
        self.accounts = AccountIDs(secret: store.indexSecret)
        self.gate = SignInGuard(pool: self.pool, limiter: SignInLimiter(servers: servers), logger: logger)
        self.parameters = parameters
        // The key is the same after a restart. With another key, a refusal could take longer or
        // shorter than before, which would show that the name is unknown.
        self.nameCode = KeyedHash(key: store.indexSecret.derive("unknown names"))
        self.lease?.onEnd { [cache] in cache.forget($0) }
    }

    // MARK: Callers

    /// The caller with these credentials; `nil` if the check would have to wait. In that case, the
    /// caller of this function must call `signIn`.
    ///
    /// `reader` is the reader of the connection's event loop, or `nil` if that reader may wait.
    /// Wrong credentials count against the address `origin`. `term` is the term of the credential
    /// lease in which the request began; the term ends when the lease expires. If there is a lease
    /// but no term, the cache is not used. `hash` computes the fingerprint of a token.
    ///
    /// Throws an `unauthorized` or `invalid-token` problem, which does not tell what is wrong, and
    /// `TryLater` after too many such problems.
    func caller(
        by credentials: Credentials,
        from origin: @autoclosure () -> PeerAddress?,
        reader: (any ImmediateReader)?,
        term: CredentialLease.Term?,
        now: Date,
        hash: (Substring) -> Fingerprint = { Fingerprint(of: $0) }
    ) throws -> Caller? {
        switch credentials {
        case .basic(let field):
            guard self.mayUseCache(in: term) else { return nil }
            return self.cache.caller(for: self.cache.key(ofBasic: field, from: origin()), now: now)
        case .bearer(let text):
            // The hash by which the store finds the token is also the key in the cache, so that
            // the token is hashed only once.
            let token = hash(text)
            if let caller = self.cachedCaller(with: token, term: term, now: now) { return caller }
            // Returns `nil` for a token of an issuer: its verification may have to wait for the
            // issuer's keys, so `signIn` does it.
            if self.issuer != nil, SignedToken.looksLike(text) { return nil }
            guard let reader else { return nil }
            let key = self.cache.key(of: token)
            let start = self.moment(of: key)
            let found = BearerToken(String(text)) == nil ? nil : try reader.user(withToken: token, now: now)
            let caller = found.map { self.remember($0, for: key, since: start, now: now) }
            return try self.admit(caller, by: credentials, from: origin(), now: now)
        case .certificate(let name), .identity(let name):
            // A caller whom a certificate or a proxy names is not cached: the check takes one
            // query, and needs no hash of a password.
            guard let reader else { return nil }
            let name = Username(name)
            let user = try name.flatMap { try reader.user(named: $0) }
            let caller = self.caller(vouchedFor: user, as: name, now: now)
            return try self.admit(caller, by: credentials, from: origin(), now: now)
        }
    }

    /// The cached caller with this token; `nil` if the cache does not contain the token. `term` is
    /// the same as for `caller`.
    func cachedCaller(with token: Fingerprint, term: CredentialLease.Term?, now: Date) -> Caller? {
        guard
            self.mayUseCache(in: term), let caller = self.cache.caller(for: self.cache.key(of: token), now: now),
            self.isCurrent(caller)
        else { return nil }
        return caller
    }

    private func mayUseCache(in term: CredentialLease.Term?) -> Bool { self.lease == nil || term != nil }

    /// The caller with these credentials. Unlike `caller`, this method waits, for example for the
    /// hash of a password, which is computed off the event loop. Throws as `caller` does, and also
    /// a `busy` problem.
    func signIn(
        by credentials: Credentials,
        from origin: PeerAddress?,
        reader: any StoreReader,
        now: Date
    ) async throws -> Caller {
        switch credentials {
        case .basic(let field):
            return try await self.signIn(field, by: credentials, from: origin, reader: reader, now: now)
        case .bearer(let text):
            if let issuer, SignedToken.looksLike(text) {
                return try await self.signIn(issued: text, by: issuer, from: origin, reader: reader, now: now)
            }
            let token = Fingerprint(of: text)
            let key = self.cache.key(of: token)
            let start = self.moment(of: key)
            let isToken = BearerToken(String(text)) != nil
            let found = isToken ? try await reader.user(withToken: token, now: now) : nil
            let caller = found.map { self.remember($0, for: key, since: start, now: now) }
            return try self.admit(caller, by: credentials, from: origin, now: now)
        case .certificate(let name), .identity(let name):
            let name = Username(name)
            let user: User? = if let name { try await reader.user(named: name) } else { nil }
            let caller = self.caller(vouchedFor: user, as: name, now: now)
            return try self.admit(caller, by: credentials, from: origin, now: now)
        }
    }

    private func signIn(
        _ field: String,
        by credentials: Credentials,
        from origin: PeerAddress?,
        reader: any AccountReader,
        now: Date
    ) async throws -> Caller {
        guard let basic = BasicCredentials(field: field) else {
            throw self.gate.refusal(credentials.refusal, from: origin, now: now)
        }
        let key = self.cache.key(ofBasic: field, from: origin)
        let start = self.moment(of: key)
        let user = try await reader.user(named: basic.username)
        let stored: PasswordHash? = if let user { try await reader.password(of: user) } else { nil }
        let hash: PasswordHash =
            if let stored { stored } else { try await self.decoy(for: basic.username, reader: reader) }
        let isRight = try await self.isRight(
            basic.password,
            of: basic.username,
            number: user?.passwordNumber ?? 0,
            by: hash,
            // The check of an unknown or disabled user takes as long as that of a wrong password.
            maySignIn: user?.isDisabled == false,
            from: origin,
            now: now
        )
        guard let user, isRight else { throw Problem(.unauthorized) }
        let caller = self.caller(user, now: now)
        self.remember(caller, for: key, since: start, now: now)
        await self.strengthen(hash, of: basic.password, for: user, from: origin)
        return caller
    }

    /// Whether the credentials of a caller who was admitted earlier are still valid. Event streams
    /// need this check, because a stream may last longer than its caller's credentials.
    ///
    /// The check reads the database and ignores the cache. It hashes no password: each new
    /// password of a user gets another `passwordNumber`, so equal numbers show that the password
    /// has not changed.
    func isStillGood(
        _ caller: Caller,
        by credentials: Credentials,
        reader: any AccountReader,
        now: Date
    ) async throws -> Bool {
        if !self.isCurrent(caller) { return false }
        if case .bearer(let text) = credentials, caller.issued == nil {
            return try await reader.user(withToken: Fingerprint(of: text), now: now)?.user.id == caller.user.id
        }
        let user = try await reader.user(named: caller.user.name)
        guard let user, user.id == caller.user.id, !user.isDisabled else { return false }
        // A later token may have taken away rights that the claims of this token gave.
        if let issued = caller.issued {
            let newest = try await reader.issuedAccount(of: user)
            return user.role.includes(caller.user.role) && caller.user.apps.isSubset(of: user.apps)
                && user.passwordNumber == caller.user.passwordNumber && issued.token.isGood(for: user, newest)
        }
        guard case .basic = credentials else { return true }
        return user.passwordNumber == caller.user.passwordNumber
    }

    /// Whether other servers can end credentials, too.
    var receivesEnds: Bool { self.lease != nil }

    /// Whether event streams learn in time of all credentials that end.
    var isReceivingEnds: Bool { self.lease?.term != nil }

    /// Returns `caller`. If `caller` is `nil`, counts a refusal and throws.
    private func admit(
        _ caller: Caller?,
        by credentials: Credentials,
        from origin: @autoclosure () -> PeerAddress?,
        now: Date
    ) throws -> Caller {
        guard let caller else { throw self.gate.refusal(credentials.refusal, from: origin(), now: now) }
        self.gate.recordRight(now: now)
        return caller
    }

    /// The caller whose user a certificate or a trusted proxy names; `nil` if there is no such
    /// user, or the user is disabled.
    ///
    /// Also `nil` if the name differs from the user's in upper or lower case: other systems may
    /// have two users whose names differ only in that.
    private func caller(vouchedFor user: User?, as name: Username?, now: Date) -> Caller? {
        guard let user, let name, name.isSpelled(like: user.name), !user.isDisabled else { return nil }
        return self.caller(user, isVouched: true, now: now)
    }

    /// Makes a caller, with the quota of the user's role and the identifier of the user's account.
    func caller(
        _ user: User,
        token: TokenGrant? = nil,
        issued: IssuedGrant? = nil,
        isVouched: Bool = false,
        now: Date
    ) -> Caller {
        Caller(
            user,
            account: self.accounts.id(ofUser: user.id),
            token: token,
            issued: issued,
            isVouched: isVouched,
            quota: self.quotas.quota(ofUser: user.id, as: user.role, now: now),
            changes: self.changes.quota(ofUser: user.id, as: user.role, now: now)
        )
    }

    /// The cache's number of evictions and the lease's term at the time when a caller was read
    /// from the database, or shortly before.
    struct Moment {
        let epoch: Int
        let term: CredentialLease.Term?
    }

    func moment(of key: CredentialCache.Key) -> Moment {
        Moment(epoch: self.cache.epoch(of: key), term: self.lease?.term)
    }

    /// Caches a caller, unless the caller's data may have changed since `start` without this
    /// server's knowledge.
    func remember(_ caller: Caller, for key: CredentialCache.Key, since start: Moment, now: Date) {
        if let lease { guard let term = start.term, lease.holds(term) else { return } }
        self.cache.remember(caller, for: key, since: start.epoch, now: now)
    }

    private func remember(
        _ found: (user: User, grant: TokenGrant),
        for key: CredentialCache.Key,
        since start: Moment,
        now: Date
    ) -> Caller {
        let caller = self.caller(found.user, token: found.grant, now: now)
        self.remember(caller, for: key, since: start, now: now)
        if found.grant.usedAt.map({ now >= $0 + Self.useInterval }) ?? true {
            self.store.tokenUses.record(found.grant.prefix, now: now)
        }
        return caller
    }

    /// Replaces the quotas of all roles, also for cached callers. The part of the quota that a
    /// user has used stays used.
    package func replaceQuotas(_ quotas: [Role: Quota]) {
        self.quotas.replaceQuotas(quotas)
        self.changes.replaceQuotas(quotas)
    }

    /// Tells the limiter of sign-ins how long a request's body may take.
    package func expect(bodyTimeout: Duration) { self.gate.limiter.expect(bodyTimeout: bodyTimeout) }

    /// The metrics of sign-ins and quotas.
    var samples: [MetricSample] { self.gate.samples + self.quotas.samples(with: self.changes) }

    /// Call this after a user was changed or deleted, before the answer.
    func accountChanged(_ name: Username) {
        self.cache.forget(name)
    }

    /// Call this after a token was deleted, before the answer.
    func tokenEnded(_ fingerprint: Fingerprint) {
        self.cache.forget(fingerprint)
    }
}
