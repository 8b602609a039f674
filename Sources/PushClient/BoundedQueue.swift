internal import Foundation

#if canImport(FoundationNetworking)
    /// The queue of a session's delegate on Linux, with a bound.
    ///
    /// Foundation there reads as fast as a peer sends, and puts each piece into the delegate's
    /// queue: on a busy machine all of 64 MiB are in memory before the delegate has seen the head.
    /// Here the reader waits when there are too many.
    ///
    /// Unchecked only because its superclass is, which locks what it has; this one adds nothing to
    /// that.
    final class BoundedQueue: OperationQueue, @unchecked Sendable {
        /// Pieces of at most 16 KiB.
        private static let bound = 32

        override init() {
            super.init()
            self.maxConcurrentOperationCount = 1
        }

        override func addOperation(_ block: @escaping @Sendable () -> Void) {
            super.addOperation(block)
            if self.operationCount > Self.bound { self.waitUntilAllOperationsAreFinished() }
        }
    }
#endif
