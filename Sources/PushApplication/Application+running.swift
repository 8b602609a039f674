package import Foundation
import Reactor
package import UnixSignals

extension Application {
    /// Runs the application, and reloads its files whenever the process receives one of `signals`.
    package func run(reloadingOn signals: [UnixSignal], _ configuration: ConfigurationReload) async throws {
        // The signals must be trapped before the log line that announces the server: an untrapped
        // signal ends the process.
        let reloads = await UnixSignalsSequence(trapping: signals)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await _ in reloads {
                    configuration.reload(in: self)
                    await self.parts.reload()
                }
            }
            try await self.run()
            group.cancelAll()
        }
    }

    /// Runs the application in this process as long as `body` runs. `body` gets the base URL of
    /// the server's first TCP address.
    package func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (URL) async throws -> Result
    ) async throws -> Result {
        let server = try self.baseURL
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run() }
            let result: Swift.Result<Result, any Error>
            do {
                result = .success(try await body(server))
            } catch {
                result = .failure(error)
            }
            await self.stop()
            try await group.waitForAll()
            return try result.get()
        }
    }

    private var baseURL: URL {
        get throws {
            for address in self.addresses {
                if case .tcp = address, let url = URL(string: "\(self.scheme)://\(address)") { return url }
            }
            throw ConfigurationError("server.listen: must have a TCP address")
        }
    }
}
