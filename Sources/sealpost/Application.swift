import Foundation
import HTTPSignatures
import Logging
import PushCore
import PushDelivery
import PushServer
import PushStore
import Reactor
import ServiceLifecycle
import SocketHTTP
import SocketTLS
import Synchronization
import UnixSignals

/// The daemon, wired: the one builder for production, the demonstration and the tests.
struct Application: Sendable {
    let store: any Store
    let status = SenderStatus()
    private let server: HTTPServer
    private let tls: TLSSetup?
    private let services: ServiceGroup
    private let loops: EventLoopGroup
    private let outboundLoop: EventLoop
    private let senders: [(name: Platform, setup: SenderSetup)]
    private let wakeUp: WakeUp
    private let keyringHasChanged = WakeUp()
    private let signingKeys: SigningKeys
    private let configuration: Configuration
    private let logger: Logger

    /// Opens the database and listens; answers nobody before `run()`.
    ///
    /// `listeners`, if there are any, take the place of the configuration's `server.listen`.
    ///
    /// Throws `ConfigurationError`, `StoreError` or `SystemError` with the thing that is wrong.
    init(
        _ configuration: Configuration,
        logger: Logger,
        listeners: [Listener] = [],
        stoppingOn signals: [UnixSignal] = []
    ) throws {
        self.logger = logger
        self.configuration = configuration
        let keyring = try KeyringFile(configuration.keyring).loadOrCreate(beside: configuration.storePlace)
        let streams = StreamHub()
        let streamLanes = Set(configuration.senders.filter { $1.isStream }.map { Lane($0.key).description })
        var options = StoreOptions()
        // Refused before the handler's time is over: a client that was told 503 must not be told so of what was done.
        options.patience = configuration.limits.handlerTimeout * 2 / 3
        options.isAway = { lane, device in
            streamLanes.contains(lane) && DeviceHandle(device).map(streams.isListening) == false
        }
        options.onEvent = { logger.log($0) }
        self.store = try configuration.storePlace.open(keyring, options)
        let signingKeys = SigningKeys(try SigningKeyFile(configuration.signingKeys).loadOrCreate())
        self.signingKeys = signingKeys
        self.loops = try EventLoopGroup(count: configuration.loops)
        // Of its own: what providers take their time over must not delay an answer to a phone.
        self.outboundLoop = try EventLoop(index: 0, name: "outbound")
        let setups = try configuration.senders.map { [outboundLoop] name, sender in
            (name, try SenderSetup(sender, name: name, on: outboundLoop, streams: streams))
        }
        self.senders = setups.map { (name: $0, setup: $1) }
        let settlements = SettlementWatch()
        let wakeUp = WakeUp()
        self.wakeUp = wakeUp
        let delivery = try DeliveryService(
            store: self.store,
            lanes: setups.flatMap(\.1.lanes),
            settings: DeliverySettings(inFlight: configuration.inFlight),
            wakeUp: wakeUp,
            status: self.status,
            settlements: settlements,
            logger: logger,
            executor: self.outboundLoop
        )
        let settings = ServerSettings(
            idBits: configuration.idBits,
            emptyPayload: configuration.emptyPayload,
            maximumPayload: configuration.maximumPayload,
            lifetime: .seconds(configuration.expiresIn),
            cacheMaxAge: .seconds(configuration.cacheMaxAge),
            listMaxAge: .seconds(configuration.listMaxAge),
            sessionLifetime: .seconds(configuration.sessionExpiresIn),
            streamHeartbeat: configuration.streamHeartbeat,
            identityField: configuration.identityHeader.flatMap { IdentityField($0) },
            platforms: Dictionary(uniqueKeysWithValues: setups.map { ($0, $1.rule) }),
            storage: configuration.storage
        )
        let tls = try configuration.tls.map {
            try TLSSetup($0, handshakeTimeout: configuration.handshakeTimeout, logger: logger)
        }
        self.tls = tls
        let expiries = setups.compactMap(\.1.expiry)
        let connections = ConnectionCounts()
        let responder = PushServer(
            store: self.store,
            readers: try self.loops.loops.map { [store] _ in try store.makeReader() },
            reports: ReportReader(try self.store.makeReader()),
            lists: ListPool(
                try (0..<min(4, max(1, configuration.loops - 1))).map { [store] _ in try store.makeReader() }
            ),
            authenticator: Authenticator(
                store: self.store,
                parameters: configuration.passwords,
                loops: self.loops.loops.count,
                workers: max(1, configuration.loops - 1),
                quotas: configuration.quotas,
                logger: logger
            ),
            settings: settings,
            signingKeys: signingKeys,
            streams: streams,
            settlements: settlements,
            logger: logger,
            workIsWaiting: { wakeUp() },
            troubles: { [store, status] in store.troubles + status.troubles },
            samples: { [status] in
                [
                    MetricSample(.logLinesDropped, [:], Double(LogWriter.standardError.dropped)),
                    MetricSample(.connections, [:], Double(connections.open.load(ordering: .relaxed))),
                    MetricSample(.connectionsRefused, [:], Double(connections.refused.load(ordering: .relaxed))),
                    MetricSample(.connectionsEvicted, [:], Double(connections.evicted.load(ordering: .relaxed))),
                ]
                    + status.troubleByLane.map { lane, trouble in
                        MetricSample(.resting, ["lane": lane.description], trouble == nil ? 0 : 1)
                    }
                    + ((tls?.expiries ?? []) + expiries).map { expiry in
                        let end = expiry.expiresAt.timeIntervalSince1970
                        return MetricSample(.credentialExpiry, ["credential": expiry.name], end)
                    }
            }
        )
        self.server = HTTPServer(
            listeners: listeners.isEmpty
                ? try configuration.listen.compactMap(SocketAddress.init).map { try Listener($0) } : listeners,
            loops: self.loops,
            limits: configuration.limits,
            proxies: configuration.proxies,
            responder: responder,
            counts: connections,
            makeStream: tls?.acceptor.accept
        )
        let retention = RetentionService(store: self.store, auditKept: configuration.auditKept, logger: logger)
        self.services = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: retention), .init(service: delivery),
                    .init(
                        service: RewrapService(
                            store: self.store,
                            keyringHasChanged: self.keyringHasChanged,
                            logger: logger
                        )
                    ),
                    .init(service: HTTPService(server: self.server, logger: logger)),
                ],
                gracefulShutdownSignals: signals,
                logger: logger
            )
        )
    }

    /// Where it listens; a port 0 of the configuration has become a number.
    var addresses: [SocketAddress] { self.server.addresses }

    /// Serves and sends until `stop()` or a signal; running requests and pushes are finished first.
    func run() async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(try await self.services.run())
        } catch {
            result = .failure(error)
        }
        for sender in self.senders { await sender.setup.close() }
        await self.store.close()
        self.loops.stop()
        self.outboundLoop.stop()
        self.logger.info("stopped")
        try result.get()
    }

    /// Reads again what may change while it runs: certificates, the keyring, the keys that sign and the senders' credentials.
    /// Where the new is bad, the old stays.
    func reload() async {
        self.tls?.reload()
        await self.reloadKeyring()
        self.reloadSigningKeys()
        for (name, setup) in self.senders { self.reload(setup, name: name) }
        self.wakeUp()
    }

    private func reloadKeyring() async {
        do {
            let keyring = try KeyringFile(self.configuration.keyring).loadOrCreate(
                beside: self.configuration.storePlace
            )
            guard try await self.store.exchange(keyring, now: Date()) else { return }
            self.keyringHasChanged()
            self.logger.info("keyring reloaded", metadata: ["seals": "\(keyring.sealing)"])
        } catch {
            self.logger.error("keyring reload failed; the old keyring stays in use", metadata: ["error": "\(error)"])
        }
    }

    private func reloadSigningKeys() {
        do {
            let new = try SigningKeyFile(self.configuration.signingKeys).load()
            guard new.keys.map(\.key.id) != self.signingKeys.current.keys.map(\.key.id) else { return }
            self.signingKeys.exchange(new)
            self.logger.info("signing keys reloaded", metadata: ["signs": "\(new.keys[0].key.id)"])
        } catch {
            self.logger.error("signing key reload failed; the old keys stay in use", metadata: ["error": "\(error)"])
        }
    }

    private func reload(_ setup: SenderSetup, name: Platform) {
        do {
            guard try setup.reload() else { return }
            // What the old ones were refused for says nothing about the new.
            for lane in setup.lanes { self.status.reset(lane.lane) }
            self.logger.info("credentials reloaded", metadata: ["sender": "\(name)"])
        } catch {
            self.logger.error(
                "credential reload failed; the old credentials stay in use",
                metadata: ["sender": "\(name)", "error": "\(error)"]
            )
        }
    }

    /// The scheme of what is served over TCP.
    var scheme: String { self.tls == nil ? "http" : "https" }

    /// Ends `run()`, gracefully. From anywhere.
    func stop() async {
        await self.services.triggerGracefulShutdown()
    }
}

extension DeliveryService: Service {}
extension RetentionService: Service {}
extension RewrapService: Service {}

private struct HTTPService: Service {
    let server: HTTPServer
    let logger: Logger

    func run() async throws {
        // Said here, where the handlers of signals are in place: whoever reads it may stop the daemon at once.
        let addresses = self.server.addresses.map(\.description).joined(separator: " ")
        self.logger.info("serving", metadata: ["addresses": "\(addresses)"])
        await withGracefulShutdownHandler {
            await self.server.run()
        } onGracefulShutdown: {
            self.server.stop()
        }
    }
}
