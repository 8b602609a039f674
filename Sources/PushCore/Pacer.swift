package import Foundation

/// Limits calls to a rate per second, and spreads them over the second by tenths. After a pause
/// the rate rises to its full height within a minute, as Google asks of senders.
package struct Pacer: Sendable {
    /// How long a rise lasts.
    package static let rise: TimeInterval = 60
    /// The share of the rate at which a rise begins.
    private static let least = 0.1

    /// A ring buffer of the times of the last calls, as many as are allowed in a tenth of a
    /// second.
    private var times: [Date]
    private var next = 0
    private var span: TimeInterval
    /// The calls a second that all servers together may make.
    private let rate: Int
    /// When the rate began to rise; `nil` at its full height.
    private var riseBegan: Date?

    /// `rate`: calls a second, at least 1.
    package init(rate: Int) {
        let count = max(1, rate / 10)
        self.times = Array(repeating: .distantPast, count: count)
        self.span = Double(count) / Double(max(1, rate))
        self.rate = max(1, rate)
    }

    /// Uses an equal part of the rate from now on, since this many servers share it. Earlier calls
    /// still count.
    package mutating func share(among senders: Int) {
        let senders = max(1, senders)
        let count = max(1, self.rate / senders / 10)
        let times = self.times[self.next...] + self.times[..<self.next]
        // The oldest call comes first. A longer buffer repeats it, so that it admits no more calls
        // than a buffer that was always as long.
        let oldest = Array(repeating: times.first ?? .distantPast, count: max(0, count - times.count))
        self.times = oldest + times.suffix(count)
        self.next = 0
        self.span = Double(count) * Double(senders) / Double(self.rate)
    }

    /// Returns `nil` and counts a call if one may be made now; otherwise returns when one may be
    /// made.
    package mutating func admit(now: Date) -> Date? {
        let span = self.span / self.share(now)
        let earliest = self.times[self.next] + span
        // A time that is too far away was recorded before the clock was set back.
        if earliest > now, earliest.timeIntervalSince(now) < 2 * span { return earliest }
        self.times[self.next] = now
        self.next = (self.next + 1) % self.times.count
        return nil
    }

    /// Makes the rate begin to rise: the pushes that waited during a pause must not all be sent at
    /// once.
    package mutating func beginRise(now: Date) {
        self.riseBegan = now
    }

    /// The share of the rate that may be used now.
    private mutating func share(_ now: Date) -> Double {
        guard let riseBegan else { return 1 }
        let share = Self.least + (1 - Self.least) * now.timeIntervalSince(riseBegan) / Self.rise
        // The rise is over, or the clock was set back: then the share is below its minimum.
        guard (Self.least..<1).contains(share) else {
            self.riseBegan = nil
            return 1
        }
        return share
    }
}
