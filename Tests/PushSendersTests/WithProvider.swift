import Foundation
import PushCore
import PushSenders
import PushSimulators
import Reactor
import Synchronization

/// Makes an event loop, and a file with the certificate of the authority that issues the
/// simulators' certificates, for the duration of a test.
func withProvider<Result: Sendable>(
    _ body: @Sendable (TestAuthority, _ connection: ConnectionSettings, EventLoop) async throws -> Result
) async throws -> Result {
    let path = FileManager.default.temporaryDirectory.path + "/sealpost-\(UUID().uuidString).crt"
    let authority = try TestAuthority()
    try authority.write(to: path)
    // A failed removal of the file harms nothing.
    defer { try? FileManager.default.removeItem(atPath: path) }
    let loop = try EventLoop(index: 0)
    defer { loop.stop() }
    return try await body(authority, ConnectionSettings(caFile: path, connections: 2, timeout: .seconds(60)), loop)
}

/// Options of a simulator that also has names under `*.services.localhost`. libcurl resolves these
/// names to this machine.
extension SimulatorOptions {
    static let namedHost = "a.services.localhost"
    static let otherNamedHost = "b.services.localhost"

    static var named: SimulatorOptions {
        var options = SimulatorOptions()
        options.names = [Self.namedHost, Self.otherNamedHost]
        return options
    }
}

extension PushSender {
    /// Sends `count` pushes concurrently. Returns the number of accepted pushes.
    func accepted(_ count: Int, _ push: @Sendable @escaping (Int) throws -> Push) async throws -> Int {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 1...count {
                group.addTask {
                    if case .success = await self.outcome(of: try push(index)) { true } else { false }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }
}

/// A clock that a test sets.
final class SetClock: Sendable {
    private let time: Mutex<Date>

    init(_ time: Date) {
        self.time = Mutex(time)
    }

    var now: Date { self.time.withLock { $0 } }

    func advance(by interval: TimeInterval) {
        self.time.withLock { $0 += interval }
    }
}
