import Foundation
import Reactor

extension Application {
    /// Runs in this process as long as `body` does, which is given the base URL of the first TCP address.
    func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (URL) async throws -> Result
    ) async throws -> Result {
        let server = try self.baseURL
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await self.run()
                return nil
            }
            group.addTask { try await body(server) }
            while let result = try await group.next() {
                guard let result else { continue }
                group.cancelAll()
                try await group.waitForAll()
                return result
            }
            throw CancellationError()
        }
    }

    private var baseURL: URL {
        get throws {
            for address in self.addresses {
                if case .tcp = address, let url = URL(string: "http://\(address)") { return url }
            }
            throw ConfigurationError("server.listen: no TCP address")
        }
    }
}
