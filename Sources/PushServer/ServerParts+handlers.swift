internal import PushCore
internal import PushStore

/// The handlers of all routes.
extension ServerParts {
    /// The handlers of the addresses that clients reach.
    var handlers: [any Handler] {
        self.notificationHandlers + self.pushHandlers + self.deviceHandlers + self.accountHandlers
            + self.operationHandlers
    }

    /// The names of the platforms that have a sender.
    private var platforms: Set<String> { Set(self.settings.platforms.keys.map(\.description)) }

    private var scope: AppScope {
        AppScope(self.settings, cursorKey: self.access.store.indexSecret.derive("viewer cursor"))
    }

    private var visible: VisibleNotifications {
        VisibleNotifications(vault: self.access.store.vault, maxAge: self.settings.cacheMaxAge.components.seconds)
    }

    private var notificationHandlers: [any Handler] {
        let (store, visible, looks) = (self.access.store, self.visible, self.links.looks)
        let batches = BatchPoster(
            poster: self.poster,
            idempotency: self.idempotency,
            settings: self.settings,
            failures: FailureReport(logger: self.logger),
            reports: self.access.reports
        )
        return [
            FetchHandler(store: store, visible: visible, bodies: self.bodies, history: self.daemon.history),
            PostHandler(poster: self.poster, idempotency: self.idempotency, settings: self.settings),
            BatchHandler(poster: batches),
            ListHandler(
                store: store,
                looks: looks,
                pool: self.access.lists,
                tags: EntityTagMaker(key: store.indexSecret.derive("entity tag")),
                // If a version changes the JSON format of lists, it must change the name "cursor",
                // so that all cursors change: a cursor is also the entity tag of an empty list,
                // and clients must not take the old list for unchanged.
                cursors: CursorMaker(key: store.indexSecret.derive("cursor")),
                signer: self.signer,
                settings: self.settings,
                startedAt: self.startedAt
            ),
            TakingHandler(store: store, visible: visible, looks: looks),
            ReadStateHandler(store: store, visible: visible, looks: looks),
            DeletionHandler(store: store, visible: visible, bodies: self.bodies, looks: looks),
        ]
    }

    private var pushHandlers: [any Handler] {
        let (store, reports, visible) = (self.access.store, self.access.reports, self.visible)
        return [
            DeliveryReportHandler(reports: reports, visible: visible),
            RecipientHandler(reports: reports, visible: visible),
            FailureHandler(reports: reports, scope: self.scope),
            SinglePushHandler(store: store, visible: visible, workIsWaiting: self.links.workIsWaiting),
            EventHandler(reports: reports, isOn: self.settings.events != .off, scope: self.scope),
        ]
    }

    private var deviceHandlers: [any Handler] {
        let (store, settings, links) = (self.access.store, self.settings, self.links)
        return [
            RegistrationHandler(
                store: store,
                settings: settings,
                ids: self.poster.ids,
                workIsWaiting: links.workIsWaiting
            ),
            TopicHandler(store: store, tags: settings.tags),
            DeviceKeyHandler(store: store, accounts: self.authenticator.accounts, settings: settings),
            DeviceTestHandler(
                poster: self.poster,
                settlements: links.settlements,
                daemon: self.daemon,
                platforms: self.platforms
            ),
            DeviceAdministrationHandler(store: store, reports: self.access.reports, scope: self.scope),
            WebPushKeyHandler(settings: settings),
            StreamHandler(
                store: store,
                settings: settings,
                authenticator: self.authenticator,
                pages: self.pages,
                streams: links.streams,
                workIsWaiting: links.workIsWaiting,
                logger: self.logger,
                now: self.now
            ),
        ]
    }

    private var accountHandlers: [any Handler] {
        let (store, reports, authenticator) = (self.access.store, self.access.reports, self.authenticator)
        let lifetime = self.settings.sessionLifetime
        let revoker = TokenRevoker(store: store, authenticator: authenticator)
        return [
            SessionHandler(
                store: store,
                authenticator: authenticator,
                revoker: revoker,
                pages: self.pages,
                lifetime: lifetime
            ),
            TokenHandler(
                store: store,
                reports: reports,
                revoker: revoker,
                usualLifetime: lifetime,
                logger: self.logger
            ),
            self.userHandler,
            UserTagHandler(store: store),
            EnrolmentHandler(store: store, authenticator: authenticator, lifetime: lifetime),
            SetupHandler(store: store, reports: reports, authenticator: authenticator, code: self.daemon.setup),
        ]
    }

    private var operationHandlers: [any Handler] {
        let (store, reports, daemon) = (self.access.store, self.access.reports, self.daemon)
        let receivers = Dictionary(
            self.settings.platforms.compactMap { name, rule in rule.receiver.map { (name.description, $0) } }
        ) { first, _ in first }
        return [
            AuditHandler(reports: reports, scope: self.scope),
            MetricHandler(
                store: store,
                cluster: store.cluster,
                vault: store.vault,
                authenticator: self.authenticator,
                identityField: self.settings.identityField,
                hasEventReceiver: self.settings.events == .delivered,
                samples: { [meters, forwarding] in daemon.samples() + meters.samples + [forwarding.sample] },
                startedAt: self.startedAt
            ),
            StatusHandler(
                cluster: store.cluster,
                daemon: daemon,
                platforms: self.platforms,
                startedAt: self.startedAt,
                scope: self.scope
            ),
            DiagnosisHandler(
                reports: reports,
                daemon: daemon,
                platforms: self.platforms,
                receivers: receivers,
                scope: self.scope
            ),
            LaneHandler(daemon: daemon, logger: self.logger),
            ConsoleHandler(),
            HealthHandler(daemon: daemon, store: store),
            SigningKeyHandler(keys: self.signer.keys),
            OpenAPIHandler(),
        ]
    }

    private var userHandler: UserHandler {
        UserHandler(
            store: self.access.store,
            reports: self.access.reports,
            authenticator: self.authenticator,
            settings: self.settings,
            scope: self.scope
        )
    }

    /// The handlers that only the local admin socket has.
    var localHandlers: [any Handler] {
        let (store, reports, daemon) = (self.access.store, self.access.reports, self.daemon)
        let (authenticator, settings) = (self.authenticator, self.settings)
        return [
            LocalUserHandler(
                store: store,
                reports: reports,
                authenticator: authenticator,
                settings: settings,
                users: self.userHandler,
                now: self.now
            ),
            LocalUserDataHandler(store: store, reports: reports, accounts: authenticator.accounts, apps: settings.apps),
            LocalAuditHandler(store: store),
            LocalDaemonHandler(daemon: daemon),
            LocalClockHandler(daemon: daemon),
            LocalKeyHandler(store: store, reports: reports, daemon: daemon),
            LocalKeyringHandler(files: daemon.files),
            LocalBackupHandler(files: daemon.files),
            LocalDeliveryHandler(reports: reports),
            RecipientHandler(reports: reports, visible: self.visible, isLocal: true),
            LocalSendHandler(poster: self.poster, settings: settings),
        ]
    }
}
