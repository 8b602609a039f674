package import Logging
import PushServer
import PushStore
package import Reactor
import SocketHTTP
import SocketTLS

/// What listens in the application's place while the database is one that this server must not use: `/readyz` says why.
struct ClosedApplication {
    /// How often the database is looked at again.
    private static let interval = Duration.seconds(1)

    private let server: HTTPServer
    private let loops: EventLoopGroup
    private let manager: ServiceManager?
    private let logger: Logger

    /// Leaves connections that come last to whoever uses `listeners` after it. Throws `ConfigurationError` or `SystemError`.
    init(
        _ configuration: Configuration,
        because reason: String,
        listeners: [Listener],
        manager: ServiceManager?,
        logger: Logger
    ) throws {
        (self.manager, self.logger) = (manager, logger)
        self.loops = try EventLoopGroup(count: 1)
        let tls = try configuration.tls.map {
            try TLSSetup($0, handshakeTimeout: configuration.handshakeTimeout, logger: logger)
        }
        self.server = HTTPServer(
            listeners: try listeners.map { try $0.duplicate() },
            loops: self.loops,
            limits: configuration.limits,
            proxies: configuration.proxies,
            grace: .seconds(1),
            responder: ClosedServer(
                because: reason,
                signingKeys: SigningKeys(try SigningKeyFile(configuration.signingKeys).loadOrCreate()),
                settings: ServerSettings(configuration, platforms: [:]),
                logger: logger
            ),
            makeStream: tls?.acceptor.accept
        )
    }

    /// Answers until `open` returns something; throws what `open` throws, unless the database is refused or away.
    func run<Value: Sendable>(until open: @escaping @Sendable () throws -> Value) async throws -> Value {
        let addresses = self.server.addresses.map(\.description).joined(separator: " ")
        self.logger.notice("not serving until the database is accepted", metadata: ["addresses": "\(addresses)"])
        defer { self.loops.stop() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.server.run() }
            defer { self.server.stop() }
            while true {
                // The manager would end a process that takes too long to start.
                self.manager?.tell("STATUS=the database is refused\nEXTEND_TIMEOUT_USEC=30000000")
                try await Task.sleep(for: Self.interval)
                do {
                    return try open()
                } catch StoreError.refused, StoreError.cannotOpen {
                    // As it was, or in the middle of a failover.
                }
            }
        }
    }
}

extension Application {
    /// Opens the application. While the database is refused, the listeners are answered by a `ClosedApplication`.
    ///
    /// Throws what `init` throws.
    package static func opened(
        _ configuration: Configuration,
        listeners: [Listener],
        manager: ServiceManager?,
        logger: Logger,
        _ open: @escaping @Sendable ([Listener]) throws -> Application
    ) async throws -> Application {
        do {
            return try open(listeners)
        } catch let error as StoreError {
            guard case .refused(let summary, _, _) = error else { throw error }
            logger.error("database refused", metadata: ["reason": "\(error)"])
            // Bound by the one and then used by the other, so that nobody is turned away in between.
            let bound =
                listeners.isEmpty
                ? try configuration.listen.compactMap(SocketAddress.init).map { try Listener($0) } : listeners
            let closed = try ClosedApplication(
                configuration,
                because: summary,
                listeners: bound,
                manager: manager,
                logger: logger
            )
            return try await closed.run { try open(bound) }
        }
    }
}
