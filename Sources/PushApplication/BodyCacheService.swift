import PushServer
import ServiceLifecycle

/// Evicts old payloads from the server's cache of decrypted bodies.
struct BodyCacheService: Service {
    let router: PushServer

    /// Runs at intervals, until shutdown.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                self.router.evictOldBodies()
                try? await Task.sleep(for: PushServer.evictionInterval)
            }
        }
    }
}
