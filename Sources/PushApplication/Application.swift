import Foundation
package import Logging
import PushCore
import PushDelivery
import PushServer
package import PushStore
package import Reactor
import ServiceLifecycle
import SocketHTTP
package import UnixSignals

/// The assembled daemon: production, the demonstration and the tests all build it here.
package struct Application: Sendable {
    let parts: ApplicationParts
    private let server: HTTPServer
    /// The server of the local admin socket; `nil`: the daemon accepts no commands from programs
    /// on this machine.
    private let admin: AdminServer?
    private let services: ServiceGroup

    package var store: any Store { self.parts.store }
    var status: SenderStatus { self.parts.status }

    /// Opens the database and listens; answers no request before `run()`.
    ///
    /// `listeners`, unless empty, replace the configuration's `server.listen`. `manager` receives
    /// the daemon's state.
    ///
    /// Throws `ConfigurationError`, `StoreError` or `SystemError` with the cause.
    package init(
        _ configuration: Configuration,
        logger: Logger,
        listeners: [Listener] = [],
        manager: ServiceManager? = nil,
        stoppingOn signals: [UnixSignal] = []
    ) throws {
        self.parts = try ApplicationParts(configuration, listeners: listeners, logger: logger)
        let delivery = try self.parts.makeDelivery()
        let router = try self.parts.makeRouter()
        self.server = try self.parts.makeServer(responder: router)
        self.admin = try self.parts.makeAdminServer(router)
        let events = try self.parts.makeEventDelivery()
        let retention = self.parts.makeRetention()
        let payloadLeases = PayloadLeaseService(store: self.parts.store, logger: logger, now: self.parts.clock.now)
        let rewrap = RewrapService(
            store: self.parts.store,
            keyringHasChanged: self.parts.keyringHasChanged,
            logger: logger
        )
        // The group ends its services in the reverse order of this list. So the store ends after
        // all services that may write to the store.
        var services: [any Service] = [
            StoreService(store: self.parts.store), retention, payloadLeases, delivery, rewrap,
            self.parts.clockService,
            BodyCacheService(router: router),
            try self.parts.makeHistory(),
            self.parts.makeLooks(),
        ]
        // The services end in reverse order: the export of spans comes first, so it ends after the
        // services that record spans.
        if let spans = self.parts.makeSpanExport() { services.insert(spans, at: 0) }
        if !self.parts.watchedFiles.isEmpty { services.append(FileWatchService(parts: self.parts)) }
        if let events { services.append(events) }
        if let issuerKeys = self.parts.makeIssuerKeys() { services.append(issuerKeys) }
        services += self.parts.makeClusterServices()
        if let manager, let watchdogTimeout = manager.watchdogTimeout {
            services.append(
                WatchdogService(manager: manager, watchdogTimeout: watchdogTimeout, loops: self.parts.loops)
            )
        }
        if let admin = self.admin { services.append(AdminService(admin: admin)) }
        services.append(HTTPService(server: self.server, manager: manager, logger: logger))
        self.services = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0, serviceName: "\(type(of: $0))") },
                gracefulShutdownSignals: signals,
                logger: logger
            )
        )
    }

    /// The addresses that the server listens on; a configured port 0 is replaced by the actual
    /// port.
    var addresses: [SocketAddress] { self.server.addresses }

    /// The URL scheme of the TCP listeners.
    var scheme: String { self.parts.tls == nil ? "http" : "https" }

    /// The one-time link to the console that creates the first administrator; `nil` if the store
    /// has users.
    ///
    /// If the server has no TCP address of its own, the result is only a path. The operator then
    /// opens that path at the address of the proxy. Throws `StoreError`.
    package func setupLink() async throws -> String? {
        guard try await !self.store.makeReader().hasUsers() else { return nil }
        let address = self.addresses.lazy.compactMap { address in
            if case .tcp = address { "\(address)" } else { nil }
        }.first
        let path = "/console/#/setup/\(self.parts.setup.make().exposed)"
        guard let address else { return "\(path), at your proxy" }
        // A server that listens on all addresses can be reached at the loopback address.
        let host = address.replacing("0.0.0.0:", with: "127.0.0.1:").replacing("[::]:", with: "[::1]:")
        return "\(self.scheme)://\(host)\(path)"
    }

    /// Replaces the quotas and limits; open connections keep the old limits. Any thread may call
    /// it.
    func use(quotas: [Role: Quota], limits: ServerLimits) {
        self.parts.replaceQuotas(quotas)
        self.parts.authenticator.expect(bodyTimeout: limits.bodyTimeout)
        self.server.replaceLimits(limits)
    }

    /// Serves requests and sends pushes until `stop()` or a signal. Before it returns, it finishes
    /// the requests and pushes that it has begun.
    func run() async throws {
        let result: Result<Void, any Error>
        do {
            result = .success(try await self.services.run())
        } catch {
            result = .failure(error)
        }
        await self.parts.close()
        self.parts.logger.info("stopped")
        try result.get()
    }

    /// Ends `run()` gracefully. May be called from any task.
    func stop() async {
        await self.services.triggerGracefulShutdown()
    }
}

extension DayKeyService: Service {}
extension DeliveryService: Service {}
extension EventDelivery: Service {}
extension LimitService: Service {}
extension LookService: Service {}
extension PayloadLeaseService: Service {}
extension RetentionService: Service {}
extension RewrapService: Service {}

/// Runs the store's background work.
private struct StoreService: Service {
    let store: any Store

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.store.run() }
    }
}

/// Records over time the counts that the console shows.
struct HistoryService: Service {
    let history: StatusHistory
    let reader: any OutboxReader
    let now: @Sendable () -> Date

    func run() async throws {
        await cancelWhenGracefulShutdown { await self.history.run(self.reader, now: self.now) }
    }
}

/// Serves the commands that programs on this machine send.
private struct AdminService: Service {
    let admin: AdminServer

    func run() async throws {
        await withGracefulShutdownHandler {
            await self.admin.server.run()
        } onGracefulShutdown: {
            self.admin.server.stop()
        }
    }
}

private struct HTTPService: Service {
    let server: HTTPServer
    let manager: ServiceManager?
    let logger: Logger

    func run() async throws {
        // The line is logged only now, after the signal handlers are installed: a supervisor that
        // reads the line may stop the daemon at once.
        let addresses = self.server.addresses.map(\.description).joined(separator: " ")
        self.logger.info("serving", metadata: ["addresses": "\(addresses)"])
        self.manager?.notify("READY=1")
        await withGracefulShutdownHandler {
            await self.server.run()
        } onGracefulShutdown: {
            self.manager?.notify("STOPPING=1")
            self.server.stop()
        }
    }
}
