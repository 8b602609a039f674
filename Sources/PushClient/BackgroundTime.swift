internal import Foundation

#if canImport(UIKit)
    internal import UIKit
#endif

/// Time in the background for work that must not be suspended halfway: a user often leaves the app
/// right after a tap.
enum BackgroundTime {
    /// Runs the body, and asks the system not to suspend the process before the body ends. When
    /// the time that the system grants is over, the system may suspend the process.
    static func during<Value>(_ reason: String, _ body: () async throws -> Value) async rethrows -> Value {
        #if canImport(UIKit)
            // The system calls this closure on a thread of its own, and lets the process run until
            // the closure returns. So the closure waits for the body. If the granted time is over,
            // the system calls the closure once more, with `true`.
            let end = DispatchSemaphore(value: 0)
            ProcessInfo.processInfo.performExpiringActivity(withReason: reason) { isExpired in
                if isExpired { end.signal() } else { end.wait() }
            }
            defer { end.signal() }
        #endif
        return try await body()
    }
}
