import PushDelivery
import PushServer
import ServiceLifecycle

/// Evicts old payloads from the server's cache of decrypted bodies.
struct BodyCacheService: Service {
    let router: PushServer

    /// Evicts old payloads at intervals, until shutdown.
    func run() async throws {
        await repeatUntilShutdown {
            self.router.evictOldBodies()
            return PushServer.evictionInterval
        }
    }
}
