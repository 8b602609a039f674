package import Foundation
internal import Reactor

/// A push provider for tests and demonstrations: real HTTP/2 over real TLS, real checks of tokens.
///
/// ```swift
/// let apns = try APNsSimulator(authority: TestAuthority())
/// let push = try await apns.whileRunning { apns in
///     try await send(to: apns.endpoint)
///     return try await apns.pushes.acceptedPush(1)
/// }
/// ```
package protocol PushSimulator: Sendable {
    /// The port on 127.0.0.1; known, and open to clients, before the simulator runs.
    var port: UInt16 { get }

    /// The received pushes, and the answers that the test has queued.
    var pushes: PushLog { get }

    /// Serves until the task is cancelled.
    ///
    /// Throws if no thread or descriptor is available. When `run` returns, the simulator's
    /// connections have ended. The port stays open as long as the simulator lives, so the
    /// simulator can run again.
    func run() async throws
}

extension PushSimulator {
    /// The base URL, `https://localhost:` with the port.
    package var endpoint: String { "https://localhost:\(self.port)" }

    /// Runs the simulator as long as `body` does.
    package func whileRunning<Result: Sendable>(
        _ body: @Sendable (Self) async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.run() }
            defer { group.cancelAll() }
            return try await body(self)
        }
    }
}

/// How a simulator serves; every property has a default.
package struct SimulatorOptions: Sendable {
    /// The port on 127.0.0.1; 0 takes a free one.
    package var port: UInt16 = 0
    /// Additional names in the simulator's certificate, after `localhost` and `127.0.0.1`.
    package var names: [String] = []
    /// The largest number of concurrent requests on a connection.
    package var concurrentStreams = 500
    /// The log keeps at least this number of the newest requests; it drops older requests.
    package var keptPushes = 10_000
    /// Whether the log only counts pushes, by id and device, and keeps no request. A test with a
    /// million pushes needs this.
    package var countsPushes = false
    /// The rules of faults, for requests and connections.
    package var faults: [FaultRule] = []
    /// The simulator's clock.
    package var now: @Sendable () -> Date = { Date() }
    /// The simulator calls this closure with each push that arrives, on its own thread, so the
    /// closure must be quick.
    package var onPush: (@Sendable (ReceivedPush) -> Void)?

    /// The defaults.
    package init() {}
}

extension SimulatorServer {
    /// Serves on a loop of its own until the task is cancelled.
    func serve(handler: @escaping Handler) async throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        await withDiscardingTaskGroup { group in
            group.addTask(executorPreference: loop) { await self.serve(on: loop, handler: handler) }
        }
    }
}
