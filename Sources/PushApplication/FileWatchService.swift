import PushDelivery
import ServiceLifecycle

/// Lets changed certificates and credentials take effect within a minute, without a signal.
struct FileWatchService: Service {
    /// The interval between two checks. A change takes effect at the second check after it.
    private static let interval = Duration.seconds(20)

    let parts: ApplicationParts

    /// Checks the files at once and then at intervals, until shutdown.
    func run() async throws {
        await repeatUntilShutdown {
            await self.findChanges()
            return Self.interval
        }
    }

    func findChanges() async {
        let files = self.parts.watchedFiles
        // The check runs on a new thread, since a network file system can block. `findChanges`
        // throws nothing.
        let readers = (try? await onThread { files.findChanges() }) ?? []
        for reader in readers { self.parts.reload(reader) }
    }
}
