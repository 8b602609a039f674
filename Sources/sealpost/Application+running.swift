import Foundation
import Reactor

extension Application {
    /// Runs in this process as long as `body` does, which is given the base URL of the first TCP address.
    func whileRunning<Result: Sendable>(
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
                if case .tcp = address, let url = URL(string: "http://\(address)") { return url }
            }
            throw ConfigurationError("server.listen: no TCP address")
        }
    }
}
