internal import Foundation

#if canImport(UIKit)
    internal import UIKit
#endif

/// Time in the background for work that must not be suspended halfway: a tap is often the last
/// thing before the user leaves the app.
enum BackgroundTime {
    /// Runs the body, and asks the system not to suspend the process before its end. When the
    /// system's time is over, the process may be suspended.
    static func during<Value>(_ reason: String, _ body: () async throws -> Value) async rethrows -> Value {
        #if canImport(UIKit)
            // The system calls this closure on a thread of its own, and lets the process run until
            // the closure returns. So it waits. If the time is over, the system calls it once
            // more, with `true`.
            let end = DispatchSemaphore(value: 0)
            ProcessInfo.processInfo.performExpiringActivity(withReason: reason) { isExpired in
                if isExpired { end.signal() } else { end.wait() }
            }
            defer { end.signal() }
        #endif
        return try await body()
    }
}
