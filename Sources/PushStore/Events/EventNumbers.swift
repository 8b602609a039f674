package import Foundation

/// The numbers that stores assign to events.
package enum EventNumbers {
    /// Each millisecond since 1970 has 2^10 event numbers, more than a server uses. So after a
    /// restart, all new numbers are above the earlier ones, even if the database was restored from
    /// a backup. Until the year 2248, all numbers are below 2^53, the limit of many JSON readers.
    private static let perMillisecond = 10

    /// A server that starts now assigns numbers after this number, unless the database already
    /// contains higher numbers.
    package static func first(at now: Date) -> Int64 {
        // The result is between 0 and 2^53, however wrong the clock is.
        min(max(now.milliseconds, 0), 1 << 43) << Self.perMillisecond
    }
}
