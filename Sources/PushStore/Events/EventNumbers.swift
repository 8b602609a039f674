package import Foundation

/// The numbers of events.
package enum EventNumbers {
    /// The binary logarithm of the numbers for each millisecond since 1970, which are more than
    /// any server uses. So a database that was restored from a backup never assigns a number
    /// twice. All numbers stay below 2^53, the limit of many JSON readers, until the year 2248.
    private static let perMillisecond = 10

    /// The number after which a server that starts now begins, unless the database has greater
    /// ones.
    package static func first(at now: Date) -> Int64 {
        // The limits hold also with a clock that is very wrong.
        min(max(now.milliseconds, 0), 1 << 43) << Self.perMillisecond
    }
}
