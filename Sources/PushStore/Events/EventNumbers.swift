package import Foundation

/// The numbers of events.
package enum EventNumbers {
    /// The binary logarithm of the numbers for each millisecond since 1970, which are more than any process uses. So a
    /// database that was restored from a backup does not give numbers out again; and all are below 2^53, which is as far
    /// as all readers of JSON count, until the year 2248.
    private static let perMillisecond = 10

    /// The number after which a process that starts now begins, unless the database has greater ones.
    package static func first(at now: Date) -> Int64 {
        // Also with a clock that is very wrong.
        min(max(now.milliseconds, 0), 1 << 43) << Self.perMillisecond
    }
}
