internal import Foundation

/// A value that a lock protects.
///
/// This class is used in place of `Mutex`, which needs iOS 18. `@unchecked Sendable` is safe: only
/// the holder of the lock uses the value.
package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.lock.lock()
        defer { self.lock.unlock() }
        return try body(&self.value)
    }
}
