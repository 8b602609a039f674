package import Logging
import PushServer
import PushStore
package import Reactor
import SocketHTTP
import SocketTLS

/// Listens in place of the application while the server must not use the database. The route
/// `/readyz` reports the reason.
struct ClosedApplication {
    /// The interval between two attempts to open the database.
    private static let interval = Duration.seconds(1)

    private let server: HTTPServer
    private let loops: EventLoopGroup
    private let manager: ServiceManager?
    private let logger: Logger

    /// Listens on duplicates of `listeners`. When these duplicates close, connections that they
    /// have not accepted stay in the listeners' queues, and the application accepts them. Throws
    /// `ConfigurationError` or `SystemError`.
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
            try TLSSetup($0, logger: logger)
        }
        self.server = HTTPServer(
            listeners: try listeners.map { try $0.duplicate() },
            loops: self.loops,
            limits: configuration.limits,
            proxies: configuration.proxies,
            grace: .seconds(1),
            responder: ClosedServer(
                because: reason,
                signingKeys: SigningKeys(
                    try SigningKeyFile(configuration.signingKeys).loadOrCreate(beside: configuration.storePlace)
                ),
                settings: configuration.serverSettings([:]),
                logger: logger
            ),
            opening: configuration.opening(tls, logger: logger)
        )
    }

    /// Answers requests until `open` returns a value. Calls `open` again if the server must not
    /// use the database or cannot reach it; throws all other errors of `open`.
    func run<Value: Sendable>(until open: @escaping @Sendable () throws -> Value) async throws -> Value {
        let addresses = self.server.addresses.map(\.description).joined(separator: " ")
        self.logger.notice("not serving until the database is accepted", metadata: ["addresses": "\(addresses)"])
        defer { self.loops.stop() }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await self.server.run() }
            defer { self.server.stop() }
            while true {
                // Without `EXTEND_TIMEOUT_USEC` the service manager ends a process that takes too
                // long to start.
                self.manager?.notify("STATUS=the database is refused\nEXTEND_TIMEOUT_USEC=30000000")
                try await Task.sleep(for: Self.interval)
                do {
                    return try open()
                } catch StoreError.refused, StoreError.cannotOpen {
                    // The server must still not use the database, or a failover is under way. The
                    // loop tries again.
                }
            }
        }
    }
}

extension Application {
    /// Opens the application. While the database is refused, a `ClosedApplication` answers the
    /// requests that reach the listeners.
    ///
    /// Throws the errors of `Application.init`.
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
            // The closed application and the application that replaces it use the same listeners,
            // so that no connection is refused between the two.
            let bound = listeners.isEmpty ? try configuration.makeListeners() : listeners
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
