internal import Foundation

#if canImport(FoundationNetworking)
    /// The queue of a session's delegate on Linux, with a limit.
    ///
    /// Foundation on Linux reads as fast as a peer sends, and puts each piece into the delegate's
    /// queue. On a busy machine a whole body of 64 MiB could be in memory before the delegate sees
    /// the head. This queue makes the reader wait while the queue has too many pieces.
    ///
    /// `@unchecked Sendable` is safe: the superclass locks its own state, and this class has none.
    final class BoundedQueue: OperationQueue, @unchecked Sendable {
        /// The maximum number of pieces in the queue, each of at most 16 KiB.
        private static let limit = 32

        override init() {
            super.init()
            self.maxConcurrentOperationCount = 1
        }

        override func addOperation(_ block: @escaping @Sendable () -> Void) {
            super.addOperation(block)
            if self.operationCount > Self.limit { self.waitUntilAllOperationsAreFinished() }
        }
    }
#endif
