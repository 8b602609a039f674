package import Foundation
internal import HTTPTypes
package import Logging
internal import PushAPI
package import PushCore
package import PushStore
package import SocketHTTP

/// The server of the API. It identifies the caller of each request, passes the request to the
/// handler of its route, and adds to every answer the fields that all answers have.
package final class PushServer: Responder {
    let routes: RouteTable
    /// The routes of the local admin socket: the routes of administrators, and the routes that
    /// only this socket has.
    let localRoutes: RouteTable
    let envelope: Envelope
    private let origins: OriginPolicy
    /// One read-only connection for each event loop.
    let readers: [any StoreReader]
    let authenticator: Authenticator
    /// The lease during which cached credentials are trusted; `nil` if no other server can end the
    /// credentials of callers, because no server shares the database.
    let lease: CredentialLease?
    let identityField: IdentityField?
    let forwarding: UntrustedForwarding
    let pages: PageSessions
    let strangersBodies: BodyMemory
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
        let scope = AppScope(settings, cursorKey: secret.derive("viewer cursor"))
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
                // If a version changes the JSON format of lists, it must change the name "cursor",
                // so that all cursors change: a cursor is also the entity tag of an empty list,
                // and clients must not take the old list for unchanged.
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
            UserHandler(
                store: store,
                reports: reports,
                authenticator: authenticator,
                settings: settings,
                scope: scope
            ),
            UserTagHandler(store: store),
            EnrolmentHandler(store: store, authenticator: authenticator, lifetime: settings.sessionLifetime),
            SetupHandler(store: store, reports: reports, authenticator: authenticator, code: setup),
            AuditHandler(reports: reports, scope: scope),
            MetricHandler(
                store: store,
                cluster: store.cluster,
                vault: store.vault,
                authenticator: authenticator,
                identityField: settings.identityField,
                hasEventReceiver: settings.events == .delivered,
                samples: { samples() + meters.samples + [forwarding.sample] },
                startedAt: startedAt
            ),
            StatusHandler(
                cluster: store.cluster,
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
            HealthHandler(troubles: troubles, warnings: warnings, isUnusable: { store.isUnusable }),
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
        self.lease = store.cluster?.lease
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
                // This check comes before the check of credentials, because a browser may add a
                // user's credentials to a request of another site's page.
                try self.origins.check(request, for: found)
                if let preflight = self.origins.preflight(head, for: found) {
                    return .now(self.envelope.finish(preflight, in: exchange))
                }
            }
            let now = self.wholeMilliseconds(self.now())
            // The lease's term, which ends when the lease expires, is read before any lookup in
            // the cache of credentials. So the later check of the term notices if the lease has
            // expired since.
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

    /// Answers a request of the local admin socket. `identify` returns the caller of the request,
    /// or throws the reason for a refusal.
    func respondLocally(to request: Request, identify: () throws -> Caller) -> Reply {
        let exchange = Exchange(request, self.meters)
        do {
            try self.envelope.read(exchange)
            let caller = try identify()
            exchange.isLocal = true
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
}
