package import Foundation

/// The numbers of events.
package enum EventNumbers {
    /// The binary logarithm of how many numbers each millisecond since 1970 has. No server uses
    /// that many, so a database that was restored from a backup never assigns a number twice. All
    /// numbers stay below 2^53, the limit of many JSON readers, until the year 2248.
    private static let perMillisecond = 10

    /// The number after which a server that starts now begins, unless the database has greater
    /// ones.
    package static func first(at now: Date) -> Int64 {
        // The number stays between 0 and 2^53 even if the clock is very wrong.
        min(max(now.milliseconds, 0), 1 << 43) << Self.perMillisecond
    }
}
