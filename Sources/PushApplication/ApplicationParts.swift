import Foundation
import Logging
import PushCore
import PushDelivery
import PushSenders
import PushServer
import PushStore
import Reactor
import SocketHTTP
import SocketTLS
import Synchronization

/// The parts that the services of an application share, and the builders of these services.
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
    /// `nil`: the server only lists events, or stores none.
    let eventWebhook: EventWebhookSetup?
    let eventStatus = EventStatus()
    /// `nil`: only the server's own tokens sign in.
    private let issuer: IssuerSetup?
    let keyringHasChanged = WakeUp()
    let workIsWaiting = WakeUp()
    let authenticator: Authenticator
    private let serverCount = ServerCount()
    let streams = StreamHub()
    /// The changes that devices must show.
    let looks: LookBook
    private let settlements = SettlementWatch()
    private let schedule = ReleaseSchedule()
    private let history = StatusHistory()
    let traces: RequestTraces
    /// `nil` without a collector.
    private let spans: SpanExport?
    let setup = SetupCode()
    private let connections = ConnectionCounts()
    /// Whether a backup is being written.
    let copies = CopyMark()
    let loops: EventLoopGroup
    /// A loop of its own: slow providers must not delay an answer to a phone.
    private let outboundLoop: EventLoop

    /// Opens the database and reads keys, certificates and credentials.
    ///
    /// Throws `ConfigurationError`, `StoreError` or `SystemError`, which name the fault.
    init(_ configuration: Configuration, logger: Logger) throws {
        self.configuration = configuration
        self.logger = logger
        self.watchedFiles = WatchedFiles(configuration)
        // Without a lane of looks (pushes that only tell a device to sync), the book records
        // nothing.
        self.looks = configuration.looks.isEmpty ? LookBook(limit: 0) : LookBook()
        try configuration.refuseRisks()
        for risk in configuration.risks {
            logger.warning("risky configuration", metadata: ["key": "\(risk.key)", "reason": "\(risk.reason)"])
        }
        if let fault = configuration.tracingFault { logger.warning("tracing is off", metadata: ["reason": "\(fault)"]) }
        let recorder = configuration.tracing.map { SpanRecorder(sampling: $0.every) }
        self.traces = RequestTraces(sampling: configuration.loggedRequests, spans: recorder)
        self.clock = configuration.makeClock()
        self.tls = try configuration.tls.map {
            try TLSSetup($0, logger: logger)
        }
        if PrivateFile.isMissing(configuration.keyring) { try Self.checkFiles(of: configuration) }
        let keyring = try KeyringFile(configuration.keyring).loadOrCreate(beside: configuration.storePlace)
        let options = StoreOptions(
            configuration,
            streams: self.streams,
            looks: self.looks,
            workIsWaiting: self.workIsWaiting,
            keyringHasChanged: self.keyringHasChanged,
            spans: recorder,
            now: self.clock.now,
            logger: logger
        )
        self.store = try configuration.storePlace.open(keyring, options)
        self.signingKeys = SigningKeys(try SigningKeyFile(configuration.signingKeys).loadOrCreate())
        self.loops = try EventLoopGroup(count: configuration.loops)
        self.outboundLoop = try EventLoop(index: 0, name: "outbound")
        let outbound = try OutboundParts(configuration, recorder, self.streams, on: self.outboundLoop)
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
    }

    /// Reads the files that the configuration names, so that a first start creates nothing if one
    /// of them cannot be used.
    private static func checkFiles(of configuration: Configuration) throws {
        var configuration = configuration
        // A missing key of Web Push is not checked, since the start makes it.
        configuration.senders = configuration.senders.filter { _, sender in
            if case .webPush(let webPush) = sender { !PrivateFile.isMissing(webPush.keyFile) } else { true }
        }
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        _ = try OutboundParts(configuration, SpanRecorder(sampling: 0), StreamHub(), on: loop)
    }

    /// Closes the senders, the store and the loops, in this order. Call it after the services have
    /// ended.
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

    /// Throws the errors of `DeliveryService`.
    func makeDelivery() throws -> DeliveryService {
        try DeliveryService(
            store: self.store,
            lanes: self.lanes,
            settings: DeliverySettings(),
            wakeUp: self.workIsWaiting,
            status: self.status,
            settlements: self.settlements,
            schedule: self.schedule,
            traces: self.traces,
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
                // Another server may enqueue pushes that only this server can send, or more pushes
                // than its part of the rate allows.
                if self.store.isShared, isStream || lane.rate != nil { lane.pollInterval = .milliseconds(500) }
                return lane
            }
        }
    }

    /// `nil` without a receiver. Throws `StoreError`.
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

    /// `nil` without an issuer.
    func makeIssuerKeys() -> IssuerKeyService? {
        self.issuer?.makeService(logger: self.logger)
    }

    /// `nil` without a collector.
    func makeSpanExport() -> SpanExportService? {
        self.spans?.makeService(logger: self.logger)
    }

    var clockService: ClockService {
        ClockService(
            clock: self.clock,
            file: self.configuration.clockFile,
            logger: self.logger,
            // If the database does not answer, there is no other clock that could confirm the
            // time.
            otherClock: { [store] in (try? await store.sharing())?.otherClock }
        )
    }

    /// Throws `StoreError`.
    func makeLooks() throws -> LookService {
        let (ids, now) = (NotificationIDs(bits: self.configuration.server.idBits), self.clock.now)
        return LookService(
            store: self.store,
            reader: try self.store.makeReader(),
            book: self.looks,
            makeID: { ids.draw(at: now()) },
            workIsWaiting: self.workIsWaiting,
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

    /// Throws `StoreError`.
    func makeHistory() throws -> HistoryService {
        HistoryService(history: self.history, reader: try self.store.makeReader(), now: self.clock.now)
    }

    /// `nil` if the store has no other servers.
    func makeLimits() -> LimitService? {
        self.store.limits.map {
            LimitService(
                store: $0,
                status: self.status,
                servers: self.serverCount,
                logger: self.logger,
                now: self.clock.now
            )
        }
    }

    /// Listens on `listeners`, or on the configuration's addresses if there are none. Throws
    /// `CommandFailure`.
    func makeServer(listeners: [Listener], responder: PushServer) throws -> HTTPServer {
        HTTPServer(
            listeners: listeners.isEmpty
                ? try self.configuration.listen.compactMap(SocketAddress.init).map { try Self.listen(at: $0) }
                : listeners,
            loops: self.loops,
            limits: self.configuration.limits,
            proxies: self.configuration.proxies,
            responder: responder,
            counts: self.connections,
            makeStream: self.tls?.acceptor.accept,
            onBadProxyHeader: self.configuration.onBadProxyHeader(logger: self.logger)
        )
    }

    private static func listen(at address: SocketAddress) throws(CommandFailure) -> Listener {
        do throws(SystemError) {
            return try Listener(address)
        } catch {
            let remedy =
                switch error.code {
                case EADDRINUSE: "; stop the program that has the address, or change server.listen"
                case EACCES: "; use a port above 1023, or the socket of systemd: docs/operate/install.md"
                default: ""
                }
            throw CommandFailure("server.listen: \(error)\(remedy)")
        }
    }

    /// The router of all listeners. Throws `StoreError`.
    func makeRouter() throws -> PushServer {
        PushServer(
            store: self.store,
            readers: try self.makeReaders(self.configuration.loops),
            reports: ReportReader(try self.store.makeReader()),
            lists: ListPool(try self.makeReaders(min(4, Self.workers(self.configuration)))),
            authenticator: self.authenticator,
            settings: self.configuration.serverSettings(
                Dictionary(uniqueKeysWithValues: self.senders.map { ($0.name, $0.setup.rule) })
            ),
            signingKeys: self.signingKeys,
            streams: self.streams,
            looks: self.looks,
            settlements: self.settlements,
            schedule: self.schedule,
            logger: self.logger,
            workIsWaiting: { [workIsWaiting] in workIsWaiting() },
            troubles: { [store] in store.troubles },
            warnings: { [clock] in clock.held == nil ? [] : ["the clock jumped ahead and is rejected"] },
            samples: { self.samples },
            daemon: self.daemon,
            history: self.history,
            setup: self.setup,
            traces: self.traces,
            now: self.clock.now
        )
    }

    /// The number of threads that compute: one core is left to the loops.
    private static func workers(_ configuration: Configuration) -> Int { max(1, configuration.loops - 1) }

    private func makeReaders(_ count: Int) throws -> [any StoreReader] {
        try (0..<count).map { _ in try self.store.makeReader() }
    }

    /// The parts that operators see and control through the server.
    private var daemon: Daemon {
        Daemon(
            version: Version.current,
            credentials: {
                (self.tls?.expiries(at: Date()) ?? []) + self.senders.compactMap(\.setup.expiry)
            },
            pauses: { [status] in status.pauseByLane },
            retry: { [status, workIsWaiting] lane in
                status.reset(lane)
                workIsWaiting()
            },
            reloadKeys: { try await self.reloadKeys(for: $0) },
            rewrap: { [keyringHasChanged] in keyringHasChanged() },
            acceptClock: { try await self.clockService.accept(in: self.store, for: $0) },
            files: self.localFiles
        )
    }

    private var expiries: [CredentialExpiry] {
        (self.tls?.expiries ?? []) + self.senders.compactMap(\.setup.expiry)
    }

    // MARK: Metrics

    /// The samples of the parts that the server does not know.
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
    /// The value 0 means that the keys were never read.
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
