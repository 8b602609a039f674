import Foundation

@testable import PushSQLite

extension Writer {
    /// Keeps the writer busy until `count` jobs wait, which `body` hands in or has others hand in: they are then committed
    /// together.
    ///
    /// Gives up after a minute, so that a test that hands in fewer fails by what it counts.
    func holding(until count: Int, _ body: () async throws -> Void) async throws {
        let (begun, signal) = AsyncStream<Void>.makeStream()
        async let held: Void = self.write(.delivery) { _ in
            signal.finish()
            let deadline = ContinuousClock.now + .seconds(60)
            while self.waitingCount < count, ContinuousClock.now < deadline { usleep(100) }
        }
        for await _ in begun {}
        try await body()
        try await held
    }
}
