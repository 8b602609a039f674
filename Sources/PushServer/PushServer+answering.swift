internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// How the server answers a request after the first check of its caller.
extension PushServer {
    /// Answers a request whose caller can be identified only by asynchronous work, such as hashing
    /// a password.
    func signInAndAnswer(_ exchange: Exchange, _ found: RouteTable.Match, now: Date) async -> Response {
        do {
            let caller = try await self.signIn(exchange.request, for: found, now: now)
            return try await self.answer(exchange, found, to: caller, now: now).response
        } catch {
            return self.envelope.finish(error, in: exchange)
        }
    }

    /// Answers a request whose caller is identified, or whose route needs no caller.
    func answer(_ exchange: Exchange, _ found: RouteTable.Match, to caller: Caller?, now: Date) -> Reply {
        exchange.account = caller?.account
        do {
            let (route, context) = try self.admit(caller, to: found, in: exchange, now: now)
            if let limit = route.strangersBody, context.isStrict || !route.body.members.isEmpty {
                return .later { await self.readBodyAndBegin(route, context, upTo: limit, in: exchange) }
            }
            return try self.begin(route, context, in: exchange)
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    private func begin(_ route: Route, _ context: RequestContext, in exchange: Exchange) throws -> Reply {
        if context.isStrict { return .later { await self.runStrictly(route, context, in: exchange) } }
        return self.finish(try route.begin(context), to: context, in: exchange)
    }

    /// Reserves memory for the body of a request without a caller, reads the body, and then runs
    /// the route. The body keeps the bytes, so that the route can read them again.
    private func readBodyAndBegin(
        _ route: Route,
        _ context: RequestContext,
        upTo limit: Int,
        in exchange: Exchange
    ) async -> Response {
        do {
            let body = context.request.body
            let length = body.declaredLength ?? limit
            guard length <= limit else { throw BodyError.tooLarge }
            // The memory for twice the length is reserved: an array that grows may allocate twice
            // its length.
            let room = 2 * length
            try self.strangersBodies.reserve(room)
            defer { self.strangersBodies.release(room) }
            _ = try await body.collect(upTo: length)
            let reply = try self.begin(route, context, in: exchange)
            return try await reply.response
        } catch {
            return self.envelope.finish(error, in: exchange)
        }
    }

    /// The reply of a handler, with the envelope around its response or its error.
    private func finish(_ reply: consuming Reply, to context: RequestContext, in exchange: Exchange) -> Reply {
        switch consume reply {
        case .now(let response): .now(self.envelope.finish(response, of: context, in: exchange))
        case .wait(let begin, let next): .wait(begin) { self.resume(next, context, in: exchange) }
        case .later(let work): .later { await self.run(work, for: context, in: exchange) }
        }
    }

    /// Continues a request after the wait of its handler.
    private func resume(_ next: () throws -> Reply, _ context: RequestContext, in exchange: Exchange) -> Reply {
        do {
            let reply = try next()
            // No answer is sent if the credential lease has expired since the request began: the
            // caller's credentials may have ended, too. Work must run even then, since other
            // requests may wait for the work; `run` checks the lease afterwards.
            if case .now = reply, let term = exchange.term { try self.lease?.check(term) }
            return self.finish(reply, to: context, in: exchange)
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    private func run(
        _ work: () async throws -> Response,
        for context: RequestContext,
        in exchange: Exchange
    ) async -> Response {
        guard let span = exchange.span else {
            return await self.finish(work, for: context, in: exchange)
        }
        return await TraceContext.$current.withValue(span.context) {
            await self.finish(work, for: context, in: exchange)
        }
    }

    private func finish(
        _ work: () async throws -> Response,
        for context: RequestContext,
        in exchange: Exchange
    ) async -> Response {
        do {
            if let lease, let term = exchange.term {
                return try await self.runLeased(work, for: context, in: exchange, lease, term)
            }
            return self.envelope.finish(try await work(), of: context, in: exchange)
        } catch {
            return self.envelope.finish(error, in: exchange)
        }
    }

    /// Throws `StoreError.unavailable` if the credential lease has expired since the request
    /// began. In that case the server was stopped or cut off from the database, and the caller's
    /// credentials may have ended long before the answer.
    private func runLeased(
        _ work: () async throws -> Response,
        for context: RequestContext,
        in exchange: Exchange,
        _ lease: CredentialLease,
        _ term: CredentialLease.Term
    ) async throws -> Response {
        let response = try await CredentialLease.$admission.withValue(term) { try await work() }
        try lease.check(term)
        return self.envelope.finish(response, of: context, in: exchange)
    }

    /// Checks that the route knows the names of all parameters and members in the request, and
    /// then runs the route.
    private func runStrictly(_ route: Route, _ context: RequestContext, in exchange: Exchange) async -> Response {
        do {
            let strict = StrictHandling(route: route)
            try strict.check(query: context.request.head.query)
            // The body keeps the bytes that are collected here, so that the route can read them
            // again.
            if !route.body.isCheckedByHandler { try strict.check(body: try await context.request.body.collect()) }
        } catch {
            return self.envelope.finish(error, in: exchange)
        }
        return await self.run({ try await route.begin(context).response }, for: context, in: exchange)
    }
}
