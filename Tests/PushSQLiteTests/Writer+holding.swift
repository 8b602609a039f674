import Dispatch
import Foundation

@testable import PushSQLite

extension Writer {
    /// Keeps the writer busy until `count` jobs wait, so that they are committed together. `body`
    /// adds the jobs, or makes others add them.
    ///
    /// Gives up after a minute: a test that adds too few jobs then does not hang, but fails where
    /// it checks the number of jobs.
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

extension SQLiteStore {
    /// Wipes erased data now. Returns `false` if a reader prevents the wipe.
    func wipe() async throws -> Bool {
        try await withCheckedThrowingContinuation { continuation in
            self.writer.queue.async { continuation.resume(with: Result { try self.writer.wipe() }) }
        }
    }
}
