package import Foundation
internal import HTTPTypes
package import Logging
internal import PushAPI
package import PushCore
package import PushStore
package import SocketHTTP

/// The API: answers every request, and wraps every answer, whatever its status, in the same envelope.
package final class PushServer: Responder {
    let store: Store
    /// One read-only connection for each event loop.
    let readers: [Reader]
    /// For what takes longer than a loop may wait.
    let reports: ReportReader
    /// For lists that take longer than a loop may wait.
    let lists: ListPool
    let vault: Vault
    let tags: EntityTagMaker
    let cursors: CursorMaker
    let collapseIDs: CollapseIDs
    let idempotency: IdempotencyGuard
    let authenticator: Authenticator
    let settings: ServerSettings
    let signingKeys: SigningKeys
    /// The event streams that are open.
    let streams: StreamHub
    /// Tells when the delivery has written down what became of pushes.
    let settlements: SettlementWatch
    let deliveryCounts = DeliveryCounts()
    let logger: Logger
    /// Tells the delivery that there is work.
    let workIsWaiting: @Sendable () -> Void
    /// What keeps the server from storing or sending; empty when it is ready.
    let troubles: @Sendable () -> [String]
    /// What else is measured than the store counts.
    let samples: @Sendable () -> [MetricSample]
    let now: @Sendable () -> Date
    let startedAt: Date

    private let routes: RouteTable
    /// Asked of the logger once, which copies its handler to tell.
    private let logsRequests: Bool

    package init(
        store: Store,
        readers: [Reader],
        reports: ReportReader,
        lists: ListPool,
        authenticator: Authenticator,
        settings: ServerSettings,
        signingKeys: SigningKeys = SigningKeys(.random()),
        streams: StreamHub = StreamHub(),
        settlements: SettlementWatch = SettlementWatch(),
        logger: Logger,
        workIsWaiting: @escaping @Sendable () -> Void,
        troubles: @escaping @Sendable () -> [String] = { [] },
        samples: @escaping @Sendable () -> [MetricSample] = { [] },
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.store = store
        self.readers = readers
        self.reports = reports
        self.lists = lists
        self.vault = store.vault
        self.tags = EntityTagMaker(key: store.indexSecret.derive("entity tag"))
        // Whoever changes the form of a list changes this name: its empty answer has the cursor for a validator.
        self.cursors = CursorMaker(key: store.indexSecret.derive("cursor"))
        self.collapseIDs = CollapseIDs(key: store.indexSecret.derive("collapse id"))
        self.idempotency = IdempotencyGuard(
            keys: store.indexSecret.derive("idempotency key"),
            requests: store.indexSecret.derive("idempotent request")
        )
        self.authenticator = authenticator
        self.settings = settings
        self.signingKeys = signingKeys
        self.streams = streams
        self.settlements = settlements
        self.logger = logger
        self.workIsWaiting = workIsWaiting
        self.troubles = troubles
        self.samples = samples
        self.now = now
        self.startedAt = now()
        self.routes = .all
        self.logsRequests = logger.logLevel <= .debug
    }

    package func respond(to request: Request) -> Reply {
        var exchange = Exchange(request)
        do {
            exchange.token = try self.token(of: request.head, isToBeSigned: exchange.isToBeSigned)
            let found = self.routes.match(method: request.head.method, path: request.head.path)
            let now = self.wholeMilliseconds(self.now())
            let caller = try self.knownCaller(of: request, for: found, now: now)
            if caller == nil, found.needsCaller {
                return .later { [exchange] in await self.respond(in: exchange, signingIn: found, now: now) }
            }
            return self.respond(in: exchange, to: caller, asking: found, now: now)
        } catch {
            return .now(self.finish(error, in: exchange))
        }
    }

    /// Throws an `unauthorized` problem if it shows none, or not clearly.
    func credentials(of request: Request) throws(Problem) -> Credentials {
        try Credentials(of: request, identityField: self.settings.identityField)
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        let id = RequestID(head)
        var response = Response(Problem(refusal), request: id)
        // A token that is not one has no echo; the refusal stands all the same.
        let token = head.flatMap { try? MyToken(of: $0) }
        self.envelop(&response, id: id, token: token)
        guard let head, head.count(of: .acceptSignature) > 0 else { return response }
        return self.signed(response, for: head)
    }

    // MARK: - Private

    /// The request's token. Throws a problem if it is none, or what is asked for beside it cannot be had.
    private func token(of head: RequestHead, isToBeSigned: Bool) throws -> MyToken? {
        let token = try MyToken(of: head)
        if isToBeSigned { try self.checkSignatureRequest(of: head) }
        return token
    }

    /// Goes on with a request whose password must be hashed.
    private func respond(in exchange: Exchange, signingIn found: RouteTable.Match, now: Date) async -> Response {
        do {
            let caller = try await self.signIn(exchange.request, now: now)
            return await self.respond(in: exchange, to: caller, asking: found, now: now).response
        } catch {
            return self.finish(error, in: exchange)
        }
    }

    /// Goes on once it is known who calls.
    private func respond(
        in exchange: Exchange,
        to caller: Caller?,
        asking found: RouteTable.Match,
        now: Date
    ) -> Reply {
        var exchange = exchange
        do {
            let (route, call) = try self.admit(caller, to: found, in: &exchange, now: now)
            guard let response = try route.atOnce(self, call) else {
                return .later { [exchange] in await self.run(route, call, in: exchange) }
            }
            return .now(self.finish(response, of: call, in: exchange))
        } catch {
            return .now(self.finish(error, in: exchange))
        }
    }

    private func run(_ route: Route, _ call: Call, in exchange: Exchange) async -> Response {
        do {
            return self.finish(try await route.run(self, call), of: call, in: exchange)
        } catch {
            return self.finish(error, in: exchange)
        }
    }

    /// Whoever is not signed in learns nothing about what there is. `nil` if a password must be hashed for that.
    private func knownCaller(of request: Request, for found: RouteTable.Match, now: Date) throws -> Caller? {
        guard found.needsCaller else { return nil }
        self.settings.identityField?.countIfIgnored(in: request)
        return try self.authenticator.caller(
            by: self.credentials(of: request),
            from: request.origin,
            loop: request.loopIndex,
            reader: self.readers[request.loopIndex],
            now: now
        )
    }

    private func signIn(_ request: Request, now: Date) async throws -> Caller {
        try await self.authenticator.signIn(
            by: self.credentials(of: request),
            from: request.origin,
            loop: request.loopIndex,
            reader: self.readers[request.loopIndex],
            now: now
        )
    }

    /// Takes the request from the caller's quota before anything is done for it, also before its body is read.
    private func admit(
        _ caller: Caller?,
        to found: RouteTable.Match,
        in exchange: inout Exchange,
        now: Date
    ) throws -> (Route, Call) {
        exchange.quota = caller?.quota?.take(now: now)
        if let quota = exchange.quota, quota.isExceeded {
            throw TryLater(.rateLimited, seconds: TimeInterval(quota.seconds))
        }
        switch found {
        case .route(let route, let parameter):
            try caller?.check(for: route.access)
            return (route, Call(request: exchange.request, caller: caller, parameter: parameter, now: now))
        case .wrongMethod(let allowed, _):
            throw WrongMethod(allowed: allowed)
        case .nothing:
            throw Problem(.notFound)
        }
    }

    // Not inlined: a connection keeps what the frames of waiting functions have taken once.

    @inline(never)
    private func finish(_ response: consuming Response, of call: Call, in exchange: Exchange) -> Response {
        // Some requests have a price that is known only when they are answered.
        if let quota = call.caller?.quota?.state(now: call.now) { quota.policy.addFields(quota, to: &response.fields) }
        self.complete(&response, in: exchange)
        return response
    }

    @inline(never)
    private func finish(_ error: any Error, in exchange: Exchange) -> Response {
        var response = self.response(to: error, id: exchange.id)
        if let quota = exchange.quota { quota.policy.addFields(quota, to: &response.fields) }
        self.complete(&response, in: exchange)
        return response
    }

    private func complete(_ response: inout Response, in exchange: Exchange) {
        if self.logsRequests { self.log(response, in: exchange) }
        self.envelop(&response, id: exchange.id, token: exchange.token)
        // Last of all, for it is over what goes out.
        if exchange.isToBeSigned { response = self.signed(response, for: exchange.request.head) }
    }

    private func log(_ response: Response, in exchange: Exchange) {
        self.logger.debug(
            "request answered",
            metadata: [
                "request": "\(exchange.id)", "method": "\(exchange.request.head.method)",
                "status": "\(response.status.code)", "client": "\(exchange.request.client)",
            ]
        )
    }

    /// Rounds down to what the database keeps, so that what is answered before storing is what is answered after it.
    private func wholeMilliseconds(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }

    /// What belongs on each answer, whoever made it.
    private func envelop(_ response: inout Response, id: RequestID, token: MyToken?) {
        if let token { response.fields.append(line: "MyToken: ") { $0.append(contentsOf: token.echo.utf8) } }
        response.fields.append(line: "X-Request-Id: ") { $0.append(contentsOf: id.description.utf8) }
        response.fields.append(lines: "X-Content-Type-Options: nosniff\r\n")
    }

    /// Words for the client, who learns the code; the log learns the reason.
    private func response(to error: any Error, id: RequestID) -> Response {
        switch error {
        case let problem as Problem:
            return Response(problem, request: id)
        case let error as InsufficientScope:
            return Response(error, request: id)
        case let error as TryLater:
            var response = Response(Problem(error.code), request: id)
            response.fields.append(.retryAfter) { $0.append(decimal: error.seconds) }
            return response
        case let error as WrongMethod:
            var response = Response(Problem(.methodNotAllowed), request: id)
            response.fields.append(.allow, error.allowed.joined(separator: ", "))
            return response
        case let error as BodyError:
            return Response(Problem(error.refusal), request: id)
        case StoreError.busy:
            self.logger.warning("write refused: too many are waiting", metadata: ["request": "\(id)"])
            return Response(Problem(.busy, "too many writes are waiting"), request: id)
        case StoreError.full:
            // The store has told it once.
            return Response(Problem(.storageFull), request: id)
        default:
            self.logger.error("request failed", metadata: ["request": "\(id)", "error": "\(error)"])
            return Response(Problem(.internalError), request: id)
        }
    }
}

/// A request, with what its answer repeats or depends on.
private struct Exchange {
    let request: Request
    let id: RequestID
    let isToBeSigned: Bool
    var token: MyToken?
    /// What the caller has left, if it has a quota.
    var quota: QuotaPolicy.State?

    init(_ request: Request) {
        self.request = request
        self.id = RequestID(request.head)
        self.isToBeSigned = request.head.count(of: .acceptSignature) > 0
    }
}

/// A path that there is, with a method that it does not know.
private struct WrongMethod: Error {
    let allowed: [String]
}

extension MyToken {
    /// The token of a request, if it has one; throws an `invalid-mytoken` problem that says what is wrong with it.
    fileprivate init?(of head: RequestHead) throws(Problem) {
        guard let text = head[.myToken] else { return nil }
        guard head.count(of: .myToken) == 1 else { throw Problem(.invalidToken, "MyToken is there more than once") }
        do throws(MyToken.Invalid) {
            self = try MyToken(text: text)
        } catch {
            switch error {
            case .notANumber: throw Problem(.invalidToken, "MyToken is not a decimal number")
            case .outOfRange: throw Problem(.invalidToken, "MyToken is above \(MyToken.range.upperBound)")
            }
        }
    }
}
