internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// The checks before a request's work: its caller, the caller's quotas and rights.
extension PushServer {
    /// The caller, if the route needs one; `nil` also if its check must wait. This check comes
    /// first, so that an unknown caller cannot find out which paths exist.
    func knownCaller(of exchange: Exchange, for found: RouteTable.Match, now: Date) throws -> Caller? {
        guard found.needsCaller else { return nil }
        let request = exchange.request
        self.identityField?.countIfIgnored(in: request)
        self.forwarding.check(request)
        let caller = try self.authenticator.caller(
            by: self.credentials(of: request, for: found),
            from: request.origin,
            reader: self.readers[request.loopIndex].immediate,
            term: exchange.term,
            now: now
        )
        if let caller { try self.checkVoucher(of: caller, request) }
        return caller
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
        // Nearly all tokens need no voucher.
        guard self.identityField != nil || caller.token?.isVouched == true else { return }
        try Voucher(of: request, identityField: self.identityField).check(caller)
    }

    /// Charges the request to the caller's quota before any work for it, even before its body is
    /// read.
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

    /// Rounds down to the database's precision, so that answers are the same before and after
    /// storing.
    func wholeMilliseconds(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }
}
