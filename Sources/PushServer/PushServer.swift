package import Foundation
internal import HTTPTypes
package import Logging
internal import PushAPI
package import PushCore
package import PushStore
package import SocketHTTP

/// The API: answers every request, and wraps every answer, whatever its status, in the same envelope.
package struct PushServer: Responder {
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
    }

    package func respond(to request: Request) async -> Response {
        let id = RequestID(request.head)
        let isToBeSigned = request.head.count(of: .acceptSignature) > 0
        var token: MyToken?
        var quota: QuotaPolicy.State?
        let outcome: Result<Response, any Error>
        do {
            token = try self.token(of: request.head, isToBeSigned: isToBeSigned)
            outcome = .success(try await self.route(request, quota: &quota))
        } catch {
            outcome = .failure(error)
        }
        return self.finish(
            outcome,
            of: request,
            id: id,
            token: token,
            quota: quota,
            isToBeSigned: isToBeSigned
        )
    }

    /// Throws an `unauthorized` problem if it shows none, or not clearly.
    func credentials(of request: Request) throws(Problem) -> Credentials {
        try Credentials(of: request, identityField: self.settings.identityField)
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        let id = RequestID(head)
        let response = Response(Problem(refusal), request: id)
        // A token that is not one has no echo; the refusal stands all the same.
        let token = head.flatMap { try? MyToken(of: $0) }
        let answer = self.envelope(response, id: id, token: token)
        guard let head, head.count(of: .acceptSignature) > 0 else { return answer }
        return self.signed(answer, for: head)
    }

    // MARK: - Private

    // What need not wait stands in functions of its own that are not inlined: a connection keeps what the frames of
    // waiting functions have taken once, and ten thousand idle ones feel each hundred bytes of it.

    /// The request's token. Throws a problem if it is none, or what is asked for beside it cannot be had.
    @inline(never)
    private func token(of head: RequestHead, isToBeSigned: Bool) throws -> MyToken? {
        let token = try MyToken(of: head)
        if isToBeSigned { try self.checkSignatureRequest(of: head) }
        return token
    }

    /// Leaves in `quota` what the caller has left, if it has one.
    private func route(_ request: Request, quota: inout QuotaPolicy.State?) async throws -> Response {
        let found = self.routes.match(method: request.head.method, path: request.head.path)
        let now = self.wholeMilliseconds(self.now())
        var caller = try self.knownCaller(of: request, for: found, now: now)
        if caller == nil, found.needsCaller { caller = try await self.signIn(request, now: now) }
        quota = self.takeRequest(of: caller, now: now)
        if let quota, quota.isExceeded { throw TryLater(.rateLimited, seconds: TimeInterval(quota.seconds)) }
        let (route, call) = try self.admit(caller, to: found, with: request, now: now)
        let response = try await route.run(self, call)
        quota = self.quotaLeft(of: caller, now: now)
        return response
    }

    /// Whoever is not signed in learns nothing about what there is. `nil` if a password must be hashed for that.
    @inline(never)
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

    /// Before anything is done for the caller, also before its body is read.
    @inline(never)
    private func takeRequest(of caller: Caller?, now: Date) -> QuotaPolicy.State? {
        caller?.quota?.take(now: now)
    }

    /// Some requests have a price that is known only when they are answered.
    @inline(never)
    private func quotaLeft(of caller: Caller?, now: Date) -> QuotaPolicy.State? {
        caller?.quota?.state(now: now)
    }

    @inline(never)
    private func admit(
        _ caller: Caller?,
        to found: RouteTable.Match,
        with request: Request,
        now: Date
    ) throws -> (Route, Call) {
        switch found {
        case .route(let route, let parameter):
            try caller?.check(for: route.access)
            return (route, Call(request: request, caller: caller, parameter: parameter, now: now))
        case .wrongMethod(let allowed, _):
            throw WrongMethod(allowed: allowed)
        case .nothing:
            throw Problem(.notFound)
        }
    }

    @inline(never)
    private func finish(
        _ outcome: Result<Response, any Error>,
        of request: Request,
        id: RequestID,
        token: MyToken?,
        quota: QuotaPolicy.State?,
        isToBeSigned: Bool
    ) -> Response {
        var response: Response
        switch outcome {
        case .success(let answer): response = answer
        case .failure(let error): response = self.response(to: error, id: id)
        }
        if let quota { quota.policy.addFields(quota, to: &response.fields) }
        self.logger.debug(
            "request answered",
            metadata: [
                "request": "\(id)", "method": "\(request.head.method)", "status": "\(response.status.code)",
                "client": "\(request.client)",
            ]
        )
        response = self.envelope(response, id: id, token: token)
        // Last of all, for it is over what goes out.
        return isToBeSigned ? self.signed(response, for: request.head) : response
    }

    /// Rounds down to what the database keeps, so that what is answered before storing is what is answered after it.
    private func wholeMilliseconds(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }

    private static let everywhere: ResponseFields = [.contentTypeOptions: "nosniff"]

    /// What belongs on each answer, whoever made it.
    private func envelope(_ response: Response, id: RequestID, token: MyToken?) -> Response {
        var response = response
        if let token { response.fields.append(.myToken, token.echo) }
        response.fields.append(.requestID, id.description)
        response.fields.append(contentsOf: Self.everywhere)
        return response
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
