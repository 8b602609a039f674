internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// The checks before the server does any work for a request: who its caller is, and the caller's
/// quotas and rights.
extension PushServer {
    /// The caller of a request whose route needs a caller. Returns `nil` if the route needs no
    /// caller, or if the check of the credentials must wait. This check comes before all others,
    /// so that an unknown caller cannot find out which paths exist.
    func knownCaller(of exchange: Exchange, for found: RouteTable.Match, now: Date) throws -> Caller? {
        guard found.needsCaller else { return nil }
        let request = exchange.request
        self.identityField?.countIfIgnored(in: request)
        self.forwarding.check(request)
        let caller =
            try self.callerByLastToken(of: exchange, now: now)
            ?? self.authenticator.caller(
                by: self.credentials(of: request, for: found),
                from: request.origin,
                reader: self.readers[request.loopIndex].immediate,
                term: exchange.term,
                now: now,
                hash: { LastToken.hash($0, of: request) }
            )
        if let caller { try self.checkVoucher(of: caller, request) }
        return caller
    }

    /// The cached caller of a request that has the same token as the last request of its
    /// connection. If a proxy may name the user, the field `Authorization` alone does not identify
    /// the caller.
    private func callerByLastToken(of exchange: Exchange, now: Date) -> Caller? {
        guard self.identityField == nil, let token = LastToken.fingerprint(of: exchange.request) else { return nil }
        return self.authenticator.cachedCaller(with: token, term: exchange.term, now: now)
    }

    func signIn(_ request: Request, for found: RouteTable.Match, now: Date) async throws -> Caller {
        let caller = try await self.authenticator.signIn(
            by: self.credentials(of: request, for: found),
            from: request.origin,
            reader: self.readers[request.loopIndex],
            now: now
        )
        try self.checkVoucher(of: caller, request)
        return caller
    }

    private func credentials(of request: Request, for found: RouteTable.Match) throws(Problem) -> Credentials {
        try Credentials(
            of: request,
            identityField: self.identityField,
            pages: self.pages,
            isRestored: found.restoresSession
        )
    }

    private func checkVoucher(of caller: Caller, _ request: Request) throws(Problem) {
        // Fast path: nearly all tokens need no voucher (the user's name from a proxy or a
        // certificate).
        guard self.identityField != nil || caller.token?.isVouched == true else { return }
        try Voucher(of: request, identityField: self.identityField).check(caller)
    }

    /// Charges the request to the caller's quota before the server does any work for the request,
    /// even before it reads the body.
    func admit(
        _ caller: Caller?,
        to found: RouteTable.Match,
        in exchange: Exchange,
        now: Date
    ) throws -> (Route, RequestContext) {
        exchange.quota = caller?.quota?.take(now: now)
        if let quota = exchange.quota, quota.isExceeded {
            throw TryLater(.rateLimited, seconds: TimeInterval(quota.seconds))
        }
        switch found {
        case .route(let route, let parameter):
            try caller?.check(for: route.access)
            if route.isChange, let changes = caller?.changes?.take(now: now), changes.isExceeded {
                throw TryLater(.rateLimited, seconds: TimeInterval(changes.seconds), detail: Quotas.changesAreUsedUp)
            }
            exchange.isCheckedStrictly = exchange.prefersStrictness
            let context = RequestContext(
                request: exchange.request,
                id: exchange.id,
                caller: caller,
                parameter: parameter,
                reader: self.readers[exchange.request.loopIndex],
                now: now,
                isStrict: exchange.isCheckedStrictly
            )
            return (route, context)
        case .wrongMethod(let allowed, _):
            throw WrongMethod(allowed: allowed)
        case .nothing:
            throw Problem(.notFound)
        }
    }

    /// Rounds a time down to the database's precision, so that answers show the same time before
    /// and after it is stored.
    func wholeMilliseconds(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }
}
