package import Foundation

/// Limits calls to a rate per second, and spreads them over the second by tenths.
package struct Pacer: Sendable {
    /// A ring buffer of the times of the last calls, as many as a tenth of a second may have.
    private var times: [Date]
    private var next = 0
    private let span: TimeInterval

    /// `rate`: calls a second, at least 1.
    package init(rate: Int) {
        let count = max(1, rate / 10)
        self.times = Array(repeating: .distantPast, count: count)
        self.span = Double(count) / Double(max(1, rate))
    }

    /// Returns `nil` and counts a call if one may be made now; otherwise returns when one may be made.
    package mutating func admit(now: Date) -> Date? {
        let earliest = self.times[self.next] + self.span
        // A time that is too far away was taken before the clock was set back.
        if earliest > now, earliest.timeIntervalSince(now) < 2 * self.span { return earliest }
        self.times[self.next] = now
        self.next = (self.next + 1) % self.times.count
        return nil
    }
}
