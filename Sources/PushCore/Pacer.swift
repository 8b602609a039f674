package import Foundation

/// Keeps calls at a pace: in no second are there more than the rate, and they are spread over it by tenths.
package struct Pacer: Sendable {
    /// The times of the last calls, as many as a tenth of a second may have, in a ring.
    private var times: [Date]
    private var next = 0
    private let span: TimeInterval

    /// `rate`: calls a second, at least 1.
    package init(rate: Int) {
        let count = max(1, rate / 10)
        self.times = Array(repeating: .distantPast, count: count)
        self.span = Double(count) / Double(max(1, rate))
    }

    /// `nil`: a call may be made now, and is counted. Otherwise when one may be made.
    package mutating func admit(now: Date) -> Date? {
        let earliest = self.times[self.next] + self.span
        // Further away than it can be, it is of a clock that was set back since.
        if earliest > now, earliest.timeIntervalSince(now) < 2 * self.span { return earliest }
        self.times[self.next] = now
        self.next = (self.next + 1) % self.times.count
        return nil
    }
}
