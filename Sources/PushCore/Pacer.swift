package import Foundation

/// Limits the number of calls per second, and distributes the calls evenly over the tenths of each
/// second. After a pause, the rate rises to its full height within a minute, as Google requires of
/// senders.
package struct Pacer: Sendable {
    /// How long the rise of the rate lasts, in seconds.
    package static let rise: TimeInterval = 60
    /// The share of the full rate that may be used at the beginning of the rise.
    private static let least = 0.1

    /// A ring buffer of the times of the last calls, as many as are allowed in a tenth of a
    /// second.
    private var times: [Date]
    private var next = 0
    private var span: TimeInterval
    /// The number of calls per second that all servers together may make.
    private let rate: Int
    /// The time at which the rate began to rise; `nil` if the full rate may be used.
    private var riseBegan: Date?

    /// `rate` is the number of calls per second, at least 1.
    package init(rate: Int) {
        let count = max(1, rate / 10)
        self.times = Array(repeating: .distantPast, count: count)
        self.span = Double(count) / Double(max(1, rate))
        self.rate = max(1, rate)
    }

    /// Uses only an equal part of the rate from now on, since `senders` servers share the rate.
    /// Earlier calls still count.
    package mutating func share(among senders: Int) {
        let senders = max(1, senders)
        let count = max(1, self.rate / senders / 10)
        let times = self.times[self.next...] + self.times[..<self.next]
        // The oldest call comes first. If the buffer gets longer, the time of the oldest call is
        // repeated, so that no more calls are admitted than with a buffer that always had this
        // length.
        let oldest = Array(repeating: times.first ?? .distantPast, count: max(0, count - times.count))
        self.times = oldest + times.suffix(count)
        self.next = 0
        self.span = Double(count) * Double(senders) / Double(self.rate)
    }

    /// If a call may be made now, counts it and returns `nil`; otherwise returns the time at which
    /// the next call may be made.
    package mutating func admit(now: Date) -> Date? {
        let span = self.span / self.share(now)
        let earliest = self.times[self.next] + span
        // If `earliest` is too far ahead, the clock was set back after the oldest call was
        // recorded. That call then does not count.
        if earliest > now, earliest.timeIntervalSince(now) < 2 * span { return earliest }
        self.times[self.next] = now
        self.next = (self.next + 1) % self.times.count
        return nil
    }

    /// Makes the rate begin to rise after a pause: the pushes that waited during the pause must
    /// not all be sent at once.
    package mutating func beginRise(now: Date) {
        self.riseBegan = now
    }

    /// The share of the rate that may be used now.
    private mutating func share(_ now: Date) -> Double {
        guard let riseBegan else { return 1 }
        let share = Self.least + (1 - Self.least) * now.timeIntervalSince(riseBegan) / Self.rise
        // Above the range, the rise is over. Below it, the clock was set back, which also ends the
        // rise.
        guard (Self.least..<1).contains(share) else {
            self.riseBegan = nil
            return 1
        }
        return share
    }
}
