internal import Foundation
internal import PushAPI
internal import Synchronization

/// The few threads that hash passwords, so that logins never take all cores, nor more memory than the pool's share.
final class HashingPool: Sendable {
    private static let bound = 256

    private let queue: OperationQueue
    private let waiting = Mutex(0)

    init(workers: Int) {
        self.queue = OperationQueue()
        self.queue.name = "sealpost.hashing"
        self.queue.maxConcurrentOperationCount = workers
    }

    /// Runs slow work off the event loop. Throws a `busy` problem if too much is waiting already.
    func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async throws -> Value {
        let isFull = self.waiting.withLock { waiting in
            defer { if waiting < Self.bound { waiting += 1 } }
            return waiting >= Self.bound
        }
        if isFull { throw Problem(.busy, "too many sign-ins are waiting") }
        defer { self.waiting.withLock { $0 -= 1 } }
        return await withCheckedContinuation { continuation in
            self.queue.addOperation { continuation.resume(returning: work()) }
        }
    }
}
