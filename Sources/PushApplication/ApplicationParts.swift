import Foundation
import Logging
import PushCore
import PushDelivery
import PushSenders
import PushServer
import PushStore
import Reactor
import ServiceLifecycle
import SocketHTTP
import SocketTLS
import Synchronization

/// The objects that an application's services share, and functions that make these services.
struct ApplicationParts: Sendable {
    typealias Sender = (name: Platform, setup: SenderSetup)

    let configuration: Configuration
    let logger: Logger
    let watchedFiles: WatchedFiles
    let clock: HeldClock
    let store: any Store
    let status = SenderStatus()
    let tls: TLSSetup?
    let signingKeys: SigningKeys
    let senders: [Sender]
    /// The configured receiver of events. If it is `nil`, the server sends no events, but may
    /// store and list them.
    let eventWebhook: EventWebhookSetup?
    let eventStatus = EventStatus()
    /// The configured OIDC issuer of tokens. If it is `nil`, the server accepts only its own
    /// tokens.
    private let issuer: IssuerSetup?
    let keyringHasChanged = WakeUp()
    let authenticator: Authenticator
    private let serverCount = ServerCount()
    let links: ProcessLinks
    private let history = StatusHistory()
    /// The export of spans; `nil` if no collector of spans is configured.
    private let spans: SpanExport?
    let setup = SetupCode()
    private let connections = ConnectionCounts()
    /// Whether a backup is being written.
    let copies = CopyMark()
    let loops: EventLoopGroup
    /// This event loop serves only calls to other servers: slow providers must not delay an answer
    /// to a phone.
    private let outboundLoop: EventLoop
    /// The listeners that the process already has; if the list is empty, `makeServer` opens the
    /// configured addresses.
    private let listeners: [Listener]

    /// Opens the database and reads keys, certificates and credentials. `listeners`, if there are
    /// any, replace the configuration's `server.listen`.
    ///
    /// Throws `ConfigurationError`, `CommandFailure`, `StoreError` or `SystemError`, which name
    /// the fault.
    init(_ configuration: Configuration, listeners: [Listener], logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        self.watchedFiles = WatchedFiles(configuration)
        try configuration.refuseRisks()
        for risk in configuration.risks {
            logger.warning("risky configuration", metadata: ["key": "\(risk.key)", "reason": "\(risk.reason)"])
        }
        if let fault = configuration.tracingFault { logger.warning("tracing is off", metadata: ["reason": "\(fault)"]) }
        let recorder = configuration.tracing.map { SpanRecorder(sampling: $0.every) }
        self.links = ProcessLinks(
            // If no sender sends looks (pushes that only tell a device to sync), the book records
            // nothing.
            looks: configuration.looks.isEmpty ? LookBook(limit: 0) : LookBook(),
            traces: RequestTraces(sampling: configuration.loggedRequests, spans: recorder)
        )
        self.clock = configuration.makeClock()
        self.tls = try configuration.tls.map {
            try TLSSetup($0, logger: logger)
        }
        try configuration.refuseLostStore()
        self.listeners = try Self.checkFirstStart(of: configuration, listeners)
        let keyring = try KeyringFile(configuration.keyring).loadOrCreate(beside: configuration.storePlace)
        // Beside a database, a missing file counts as lost. So the file is made first.
        let signingKeys = try SigningKeyFile(configuration.signingKeys).loadOrCreate(beside: configuration.storePlace)
        self.signingKeys = SigningKeys(signingKeys)
        let options = StoreOptions(
            configuration,
            streams: self.links.streams,
            looks: self.links.looks,
            workIsWaiting: self.links.workIsWaiting,
            keyringHasChanged: self.keyringHasChanged,
            spans: recorder,
            now: self.clock.now,
            logger: logger
        )
        self.store = try configuration.openStore(keyring, options)
        self.loops = try EventLoopGroup(count: configuration.loops)
        self.outboundLoop = try EventLoop(index: 0, name: "outbound")
        try configuration.makeKeysOfWebPush()
        let outbound = try OutboundParts(configuration, recorder, self.links.streams, on: self.outboundLoop)
        self.spans = outbound.spans
        self.issuer = outbound.issuer
        self.senders = outbound.senders
        self.eventWebhook = outbound.eventWebhook
        self.authenticator = Authenticator(
            store: self.store,
            parameters: configuration.passwords,
            workers: Self.workers(configuration),
            quotas: configuration.quotas,
            servers: self.serverCount,
            issuer: self.issuer?.issuer,
            logger: logger
        )
        self.authenticator.expect(bodyTimeout: configuration.limits.bodyTimeout)
    }

    /// Before a start that makes files, reads the files that the configuration names, checks the
    /// folders of the new files, and opens the configured addresses. So if a file, a folder or an
    /// address cannot be used, the start fails before it makes any file.
    ///
    /// Returns the opened listeners; `listeners` itself if it is not empty, or if the start makes
    /// no files.
    private static func checkFirstStart(
        of configuration: Configuration,
        _ listeners: [Listener]
    ) throws -> [Listener] {
        guard try configuration.checkMissingFiles() else { return listeners }
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        _ = try OutboundParts(configuration, SpanRecorder(sampling: 0), StreamHub(), on: loop)
        let signingKeys = configuration.signingKeys
        if !PrivateFile.isMissing(signingKeys) { _ = try SigningKeyFile(signingKeys).load() }
        return listeners.isEmpty ? try configuration.makeListeners() : listeners
    }

    /// Closes the senders, the store and the event loops, in this order. Call it after the
    /// services have ended.
    func close() async {
        for sender in self.senders { await sender.setup.close() }
        await self.eventWebhook?.webhook.close()
        await self.issuer?.close()
        await self.spans?.close()
        await self.store.close()
        self.loops.stop()
        self.outboundLoop.stop()
    }

    // MARK: Services

    /// Makes the service that sends pushes. Throws the errors of `DeliveryService`.
    func makeDelivery() throws -> DeliveryService {
        try DeliveryService(
            store: self.store,
            lanes: self.lanes,
            settings: DeliverySettings(),
            status: self.status,
            links: self.links,
            logger: self.logger,
            executor: self.outboundLoop,
            now: self.clock.now
        )
    }

    private var lanes: [LaneSettings] {
        self.senders.flatMap { sender in
            let isStream = self.configuration.senders[sender.name]?.isStream == true
            return sender.setup.lanes.map { lane in
                var lane = lane
                // Another server may enqueue pushes that only this server can send, because the
                // device's stream is here. For a lane (queue of pushes) with a rate, another
                // server may also enqueue more pushes than that server's part of the rate allows.
                // Polling finds these pushes.
                if self.store.cluster != nil, isStream || lane.rate != nil { lane.pollInterval = .milliseconds(500) }
                return lane
            }
        }
    }

    /// Makes the service that posts events to their receiver; `nil` if no receiver is configured.
    /// Throws `StoreError`.
    func makeEventDelivery() throws -> EventDelivery? {
        guard let eventWebhook else { return nil }
        return EventDelivery(
            store: self.store,
            reader: try self.store.makeReader(),
            sender: eventWebhook.webhook,
            encode: EventMessage.body,
            status: self.eventStatus,
            logger: self.logger,
            now: self.clock.now
        )
    }

    /// Makes the service that reads the issuer's keys; `nil` if no issuer is configured.
    func makeIssuerKeys() -> IssuerKeyService? {
        self.issuer?.makeService(logger: self.logger)
    }

    /// Makes the service that exports spans; `nil` if no collector of spans is configured.
    func makeSpanExport() -> SpanExportService? {
        self.spans?.makeService(logger: self.logger)
    }

    var clockService: ClockService {
        ClockService(
            clock: self.clock,
            file: self.configuration.clockFile,
            logger: self.logger,
            // If the database does not answer, no other clock can confirm the machine's time.
            otherClock: { [store] in (try? await store.cluster?.sharing())?.otherClock }
        )
    }

    /// Makes the service that enqueues looks (pushes that only tell a device to sync).
    func makeLooks() -> LookService {
        let (ids, now) = (NotificationIDs(bits: self.configuration.server.idBits), self.clock.now)
        return LookService(
            store: self.store,
            book: self.links.looks,
            makeID: { ids.draw(at: now()) },
            workIsWaiting: { [links] in links.workIsWaiting() },
            logger: self.logger,
            now: now
        )
    }

    func makeRetention() -> RetentionService {
        RetentionService(
            store: self.store,
            auditKept: self.configuration.auditKept,
            eventsKept: self.configuration.events.kept,
            receiver: self.eventWebhook == nil ? nil : self.eventStatus,
            logger: self.logger,
            now: self.clock.now
        )
    }

    /// Makes the service that records the counts that the console shows. Throws `StoreError`.
    func makeHistory() throws -> HistoryService {
        HistoryService(history: self.history, reader: try self.store.makeReader(), now: self.clock.now)
    }

    /// Makes the services that destroy day keys, and share limits with other servers; none if no
    /// other server can share the store, as with SQLite.
    func makeClusterServices() -> [any Service] {
        guard let cluster = self.store.cluster else { return [] }
        return [
            DayKeyService(cluster: cluster, vault: self.store.vault, logger: self.logger, now: self.clock.now),
            LimitService(
                store: cluster,
                status: self.status,
                servers: self.serverCount,
                logger: self.logger,
                now: self.clock.now
            ),
        ]
    }

    /// Makes the server that listens for clients. Throws `CommandFailure` if an address cannot be
    /// opened.
    func makeServer(responder: PushServer) throws -> HTTPServer {
        HTTPServer(
            listeners: self.listeners.isEmpty ? try self.configuration.makeListeners() : self.listeners,
            loops: self.loops,
            limits: self.configuration.limits,
            proxies: self.configuration.proxies,
            responder: responder,
            counts: self.connections,
            opening: self.configuration.opening(self.tls, logger: self.logger)
        )
    }

    /// The router of all listeners. Throws `StoreError`.
    func makeRouter() throws -> PushServer {
        PushServer(
            ServerParts(
                StoreAccess(
                    self.store,
                    readers: try self.makeReaders(self.configuration.loops),
                    reports: ReportReader(try self.store.makeReader()),
                    lists: ListPool(try self.makeReaders(min(4, Self.workers(self.configuration))))
                ),
                authenticator: self.authenticator,
                settings: self.configuration.serverSettings(
                    Dictionary(uniqueKeysWithValues: self.senders.map { ($0.name, $0.setup.rule) })
                ),
                signer: AnswerSigner(keys: self.signingKeys, logger: self.logger),
                links: self.links,
                daemon: self.daemon,
                logger: self.logger,
                now: self.clock.now
            )
        )
    }

    /// The number of threads for long computations: one core is left to the event loops.
    private static func workers(_ configuration: Configuration) -> Int { max(1, configuration.loops - 1) }

    private func makeReaders(_ count: Int) throws -> [any StoreReader] {
        try (0..<count).map { _ in try self.store.makeReader() }
    }

    /// The objects through which operators observe and control the running server.
    private var daemon: Daemon {
        var daemon = Daemon()
        daemon.version = Version.current
        daemon.credentials = { (self.tls?.expiries(at: Date()) ?? []) + self.senders.compactMap(\.setup.expiry) }
        daemon.pauses = { [status] in status.pauseByLane }
        daemon.retry = { [status, links] lane in
            status.reset(lane)
            links.workIsWaiting()
        }
        daemon.reloadKeys = { try await self.reloadKeys(for: $0) }
        daemon.rewrap = { [keyringHasChanged] in keyringHasChanged() }
        daemon.acceptClock = { try await self.clockService.accept(in: self.store, for: $0) }
        daemon.files = self.localFiles
        daemon.troubles = { [store] in store.troubles }
        daemon.warnings = { [clock] in clock.held == nil ? [] : ["the clock jumped ahead and is rejected"] }
        daemon.samples = { self.samples }
        (daemon.history, daemon.setup) = (self.history, self.setup)
        return daemon
    }

    private var expiries: [CredentialExpiry] {
        (self.tls?.expiries ?? []) + self.senders.compactMap(\.setup.expiry)
    }

    // MARK: Metrics

    /// The metrics that `PushServer` cannot compute itself.
    private var samples: [MetricSample] {
        let counts = self.connections
        return ProcessSamples.all + [
            MetricSample(.logLinesDropped, [:], Double(LogWriter.standardError.dropped)),
            MetricSample(.clockAhead, [:], self.clock.held ?? 0),
            MetricSample(.connections, [:], Double(counts.open.load(ordering: .relaxed))),
            MetricSample(.connectionsRefused, [:], Double(counts.refused.load(ordering: .relaxed))),
            MetricSample(.connectionsEvicted, [:], Double(counts.evicted.load(ordering: .relaxed))),
        ]
            + (self.loops.loops + [self.loops.acceptor, self.outboundLoop]).map { loop in
                MetricSample(.longestTurn, ["loop": loop.name], loop.longestTurn.timeInterval)
            }
            + self.status.times.flatMap { lane, times in times.samples(.pushTime, [["lane", lane.description]]) }
            + Dictionary(self.status.retryCounts.map { ($0.key.platform, $0.value) }, uniquingKeysWith: +).map {
                MetricSample(.pushRetries, ["platform": $0.key], Double($0.value))
            }
            + self.status.pauseByLane.map { lane, pause in
                MetricSample(.lanePaused, ["lane": lane.description], pause == nil ? 0 : 1)
            }
            + self.status.pauseCounts.flatMap { lane, counts in
                Pause.Cause.allCases.map { cause in
                    let count = Double(counts[cause, default: 0])
                    return MetricSample(.pauses, ["lane": lane.description, "cause": cause.rawValue], count)
                }
            }
            + self.eventSamples
            + self.issuerSamples
            + [self.spans?.sample].compactMap(\.self)
            + [self.tls?.listsEnd].compactMap { $0 }.map { MetricSample(.revocationListExpiry, [:], Double($0)) }
            + self.expiries.flatMap { expiry in
                let label: KeyValuePairs = ["credential": expiry.name]
                return [MetricSample(.credentialExpiry, label, expiry.expiresAt.timeIntervalSince1970)]
                    + (expiry.lifetime.map { [MetricSample(.credentialLifetime, label, $0)] } ?? [])
            }
    }
}

extension ApplicationParts {
    /// The time at which the issuer's keys were read; 0 means that they were never read.
    private var issuerSamples: [MetricSample] {
        guard let keys = self.issuer?.issuer.keys else { return [] }
        return [MetricSample(.issuerKeys, [:], keys.readAt?.timeIntervalSince1970 ?? 0)]
    }

    private var eventSamples: [MetricSample] {
        if self.eventWebhook == nil { return [] }
        let counts = self.eventStatus.counts
        return [
            MetricSample(.eventsDelivered, [:], Double(counts.delivered)),
            MetricSample(.eventFailures, [:], Double(counts.failures)),
            MetricSample(.eventsDropped, [:], Double(counts.dropped)),
            MetricSample(.eventsPaused, [:], self.eventStatus.isPaused ? 1 : 0),
        ]
    }
}
