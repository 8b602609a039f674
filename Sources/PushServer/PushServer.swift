package import Foundation
internal import HTTPTypes
package import Logging
internal import PushAPI
package import PushCore
package import PushStore
package import SocketHTTP

/// The API: identifies the caller, passes each request to the handler of its route, and puts every
/// answer into the envelope.
package final class PushServer: Responder {
    let routes: RouteTable
    /// The routes of the local admin socket: those of administrators, and those that only this
    /// socket has.
    let localRoutes: RouteTable
    private let envelope: Envelope
    private let origins: OriginPolicy
    /// One read-only connection for each event loop.
    private let readers: [any StoreReader]
    private let authenticator: Authenticator
    /// `nil`: no other server ends callers' credentials.
    private let lease: CredentialLease?
    private let identityField: IdentityField?
    private let forwarding: UntrustedForwarding
    private let pages: PageSessions
    private let strangersBodies: BodyMemory
    private let meters: RequestMeters
    private let spans: SpanRecorder?
    let bodies: BodyCache
    private let now: @Sendable () -> Date

    package init(
        store: any Store,
        readers: [any StoreReader],
        reports: ReportReader,
        lists: ListPool,
        authenticator: Authenticator,
        settings: ServerSettings,
        signingKeys: SigningKeys = SigningKeys(.random()),
        streams: StreamHub = StreamHub(),
        looks: LookBook = LookBook(),
        settlements: SettlementWatch = SettlementWatch(),
        schedule: ReleaseSchedule = ReleaseSchedule(),
        logger: Logger,
        workIsWaiting: @escaping @Sendable () -> Void,
        troubles: @escaping @Sendable () -> [String] = { [] },
        warnings: @escaping @Sendable () -> [String] = { [] },
        samples: @escaping @Sendable () -> [MetricSample] = { [] },
        daemon: Daemon = Daemon(),
        history: StatusHistory = StatusHistory(),
        setup: SetupCode = SetupCode(),
        traces: RequestTraces = RequestTraces(),
        now: @escaping @Sendable () -> Date,
        wall: @escaping @Sendable () -> Date = { Date() }
    ) {
        let (secret, startedAt) = (store.indexSecret, now())
        let pages = PageSessions(secret: secret)
        let signer = AnswerSigner(keys: signingKeys, logger: logger, now: wall)
        let tags = EntityTagMaker(key: secret.derive("entity tag"))
        let visible = VisibleNotifications(vault: store.vault, maxAge: settings.cacheMaxAge.components.seconds)
        let bodies = BodyCache(loopCount: readers.count)
        self.bodies = bodies
        let revoker = TokenRevoker(store: store, authenticator: authenticator)
        let ids = NotificationIDs(bits: settings.idBits)
        let poster = NotificationPoster(
            store: store,
            collapseIDs: CollapseIDs(key: secret.derive("collapse id")),
            ids: ids,
            bounds: settings.storage,
            workIsWaiting: workIsWaiting,
            schedule: schedule,
            history: history,
            traces: traces
        )
        let idempotency = IdempotencyGuard(
            keys: secret.derive("idempotency key"),
            requests: secret.derive("idempotent request")
        )
        let meters = RequestMeters()
        let platforms = Set(settings.platforms.keys.map(\.description))
        let receivers = Dictionary(
            settings.platforms.compactMap { name, rule in rule.receiver.map { (name.description, $0) } }
        ) { first, _ in first }
        let forwarding = UntrustedForwarding(logger: logger)
        let scope = AppScope(settings)
        let handlers: [any Handler] = [
            FetchHandler(store: store, visible: visible, bodies: bodies, history: history),
            PostHandler(poster: poster, idempotency: idempotency, settings: settings),
            BatchHandler(
                poster: BatchPoster(
                    poster: poster,
                    idempotency: idempotency,
                    settings: settings,
                    failures: FailureReport(logger: logger),
                    reports: reports
                )
            ),
            ListHandler(
                store: store,
                looks: looks,
                pool: lists,
                tags: tags,
                // If the form of lists changes, this name must change: a cursor is also the entity
                // tag of a list without news.
                cursors: CursorMaker(key: secret.derive("cursor")),
                signer: signer,
                settings: settings,
                startedAt: startedAt
            ),
            TakingHandler(store: store, visible: visible, looks: looks),
            ReadStateHandler(store: store, visible: visible, looks: looks),
            DeletionHandler(store: store, visible: visible, bodies: bodies, looks: looks),
            DeliveryReportHandler(reports: reports, visible: visible),
            RecipientHandler(reports: reports, visible: visible),
            FailureHandler(reports: reports, scope: scope),
            SinglePushHandler(store: store, visible: visible, workIsWaiting: workIsWaiting),
            EventHandler(reports: reports, isOn: settings.events != .off, scope: scope),
            RegistrationHandler(store: store, settings: settings, ids: ids, workIsWaiting: workIsWaiting),
            TopicHandler(store: store, tags: settings.tags),
            DeviceKeyHandler(store: store, accounts: authenticator.accounts, settings: settings),
            DeviceTestHandler(poster: poster, settlements: settlements, daemon: daemon, platforms: platforms),
            DeviceAdministrationHandler(store: store, reports: reports, scope: scope),
            WebPushKeyHandler(settings: settings),
            StreamHandler(
                store: store,
                settings: settings,
                authenticator: authenticator,
                pages: pages,
                streams: streams,
                workIsWaiting: workIsWaiting,
                logger: logger,
                now: now
            ),
            SessionHandler(
                store: store,
                authenticator: authenticator,
                revoker: revoker,
                pages: pages,
                lifetime: settings.sessionLifetime
            ),
            TokenHandler(
                store: store,
                reports: reports,
                revoker: revoker,
                usualLifetime: settings.sessionLifetime,
                logger: logger
            ),
            UserHandler(store: store, reports: reports, authenticator: authenticator, settings: settings),
            UserTagHandler(store: store),
            EnrolmentHandler(store: store, authenticator: authenticator, lifetime: settings.sessionLifetime),
            SetupHandler(store: store, reports: reports, authenticator: authenticator, code: setup),
            AuditHandler(reports: reports, scope: scope),
            MetricHandler(
                store: store,
                vault: store.vault,
                authenticator: authenticator,
                identityField: settings.identityField,
                hasEventReceiver: settings.events == .delivered,
                samples: { samples() + meters.samples + [forwarding.sample] },
                startedAt: startedAt
            ),
            StatusHandler(
                store: store,
                daemon: daemon,
                platforms: platforms,
                history: history,
                troubles: { troubles() + warnings() },
                startedAt: startedAt,
                scope: scope
            ),
            DiagnosisHandler(
                reports: reports,
                daemon: daemon,
                platforms: platforms,
                receivers: receivers,
                scope: scope
            ),
            LaneHandler(daemon: daemon, logger: logger),
            ConsoleHandler(),
            HealthHandler(troubles: troubles, warnings: warnings),
            SigningKeyHandler(keys: signingKeys),
            OpenAPIHandler(),
        ]
        self.routes = RouteTable(handlers.flatMap(\.routes))
        let local: [any Handler] = [
            LocalUserHandler(
                store: store,
                reports: reports,
                authenticator: authenticator,
                settings: settings,
                now: now
            ),
            LocalUserDataHandler(
                store: store,
                reports: reports,
                accounts: authenticator.accounts,
                apps: settings.apps
            ),
            LocalAuditHandler(store: store),
            LocalDaemonHandler(daemon: daemon),
            LocalClockHandler(daemon: daemon),
            LocalKeyHandler(store: store, reports: reports, daemon: daemon),
            LocalKeyringHandler(files: daemon.files),
            LocalBackupHandler(files: daemon.files),
            LocalDeliveryHandler(reports: reports),
            RecipientHandler(reports: reports, visible: visible, isLocal: true),
            LocalSendHandler(poster: poster, settings: settings),
        ]
        self.localRoutes = RouteTable(
            self.routes.routes.filter(\.isAdministrative) + local.flatMap(\.routes)
        )
        meters.show(self.routes.routes)
        self.meters = meters
        self.spans = traces.spans
        self.origins = OriginPolicy(allowed: settings.allowedOrigins, names: settings.names)
        self.envelope = Envelope(
            signer: signer,
            origins: self.origins,
            hsts: settings.hsts,
            meters: meters,
            traces: traces,
            logger: logger
        )
        self.readers = readers
        self.authenticator = authenticator
        self.lease = store.lease
        self.lease?.onEnd { streams.revalidate(about: $0) }
        self.identityField = settings.identityField
        self.forwarding = forwarding
        self.pages = pages
        self.strangersBodies = BodyMemory(
            limit: settings.strangersBodies,
            refusal: Problem(.busy, "too many requests without credentials are being received")
        )
        self.now = now
    }

    /// The time between two calls of `evictOldBodies`.
    package static let evictionInterval = BodyCache.interval

    /// Evicts old payloads from the cache of decrypted bodies.
    package func evictOldBodies() { self.bodies.evictOld() }

    package func respond(to request: Request) -> Reply {
        let exchange = Exchange(request, self.meters, self.spans)
        let head = request.head
        do {
            let found = self.routes.match(head)
            if case .route(let route, _) = found { exchange.matched = route }
            try self.envelope.read(exchange)
            try self.origins.checkHost(of: head, for: found)
            if head.namesItsPage {
                // This comes before the check of credentials: a browser may add them to the
                // request of another site's page.
                try self.origins.check(request, for: found)
                if let preflight = self.origins.preflight(head, for: found) {
                    return .now(self.envelope.finish(preflight, in: exchange))
                }
            }
            let now = self.wholeMilliseconds(self.now())
            // The term is read before any lookup in the cache.
            if let lease, found.needsCaller { exchange.term = lease.term }
            let caller = try self.knownCaller(of: exchange, for: found, now: now)
            if caller == nil, found.needsCaller {
                return .later { await self.signInAndAnswer(exchange, found, now: now) }
            }
            return self.answer(exchange, found, to: caller, now: now)
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    /// Answers a request of the local admin socket. `identify` returns its caller, or throws the
    /// refusal.
    func respondLocally(to request: Request, identify: () throws -> Caller) -> Reply {
        let exchange = Exchange(request, self.meters)
        do {
            try self.envelope.read(exchange)
            let caller = try identify()
            let found = self.localRoutes.match(request.head)
            if case .route(let route, _) = found { exchange.matched = route }
            return self.answer(exchange, found, to: caller, now: self.wholeMilliseconds(self.now()))
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    package func refuse(_ refusal: Refusal, head: RequestHead?) -> Response {
        self.envelope.refuse(refusal, head: head)
    }

    // MARK: - Private

    /// Continues a request whose caller can be identified only by work that may wait.
    private func signInAndAnswer(_ exchange: Exchange, _ found: RouteTable.Match, now: Date) async -> Response {
        do {
            let caller = try await self.signIn(exchange.request, for: found, now: now)
            return await self.answer(exchange, found, to: caller, now: now).response
        } catch {
            return self.envelope.finish(error, in: exchange)
        }
    }

    /// Continues a request after its caller is identified.
    private func answer(_ exchange: Exchange, _ found: RouteTable.Match, to caller: Caller?, now: Date) -> Reply {
        exchange.account = caller?.account
        do {
            let (route, context) = try self.admit(caller, to: found, in: exchange, now: now)
            if let limit = route.strangersBody, context.isStrict || !route.members.isEmpty {
                return .later { await self.readBodyAndBegin(route, context, upTo: limit, in: exchange) }
            }
            return try self.begin(route, context, in: exchange)
        } catch {
            return .now(self.envelope.finish(error, in: exchange))
        }
    }

    private func begin(_ route: Route, _ context: RequestContext, in exchange: Exchange) throws -> Reply {
        if context.isStrict { return .later { await self.runStrictly(route, context, in: exchange) } }
        return self.reply(with: try route.begin(context), to: context, in: exchange)
    }

    /// Reserves memory for a stranger's body, reads the body and continues. The body keeps the
    /// bytes for the route.
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
            // An array that grows may allocate twice its length.
            let room = 2 * length
            try self.strangersBodies.reserve(room)
            defer { self.strangersBodies.release(room) }
            _ = try await body.collect(upTo: length)
            let reply = try self.begin(route, context, in: exchange)
            return await reply.response
        } catch {
            return self.envelope.finish(error, in: exchange)
        }
    }

    private func reply(with step: Step, to context: RequestContext, in exchange: Exchange) -> Reply {
        switch step {
        case .answer(let response): .now(self.envelope.finish(response, of: context, in: exchange))
        case .read(let pending, let then): .wait(ReadWait(self, pending, then: then, context, exchange))
        case .work(let work): .later { await self.run(work, for: context, in: exchange) }
        }
    }

    /// Continues a request after its notification was read.
    func resume(
        _ then: (RequestContext) throws -> Step,
        _ context: RequestContext,
        in exchange: Exchange
    ) -> Reply {
        do {
            let step = try then(context)
            // Work must run even if the term has ended, since other callers may wait for it; `run`
            // checks the term afterwards.
            if case .answer = step, let term = exchange.term { try self.lease?.check(term) }
            return self.reply(with: step, to: context, in: exchange)
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

    /// Throws `StoreError.unavailable` if the lease's term has ended during the work: the server
    /// was stopped or cut off, and the caller's credentials may have ended long before the answer.
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

    /// Checks that the route knows all names in the request, and runs the route only then.
    private func runStrictly(_ route: Route, _ context: RequestContext, in exchange: Exchange) async -> Response {
        do {
            let strict = StrictHandling(route: route)
            try strict.check(query: context.request.head.query)
            // The body keeps these bytes for the route.
            if !route.checksBody { try strict.check(body: try await context.request.body.collect()) }
        } catch {
            return self.envelope.finish(error, in: exchange)
        }
        return await self.run({ try await route.begin(context).response(to: context) }, for: context, in: exchange)
    }

    /// The caller, if the route needs one; `nil` also if its check must wait. This check comes
    /// first, so that an unknown caller cannot find out which paths exist.
    private func knownCaller(of exchange: Exchange, for found: RouteTable.Match, now: Date) throws -> Caller? {
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

    private func signIn(_ request: Request, for found: RouteTable.Match, now: Date) async throws -> Caller {
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
    private func admit(
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
    private func wholeMilliseconds(_ date: Date) -> Date {
        Date(timeIntervalSince1970: (date.timeIntervalSince1970 * 1000).rounded(.down) / 1000)
    }
}
