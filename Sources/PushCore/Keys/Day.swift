internal import CivilTime
package import Foundation

/// A day in UTC.
package struct Day: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The number of days since 1970-01-01.
    package let number: UInt32

    package init(number: UInt32) {
        self.number = number
    }

    /// The day that contains a moment. A moment before 1970 counts as the first day; a moment too
    /// far in the future counts as the last day.
    package init(of date: Date) {
        let days = (date.timeIntervalSince1970 / 86_400).rounded(.down)
        self.number = days < 0 || days.isNaN ? 0 : UInt32(exactly: days) ?? .max
    }

    /// Reads `2026-11-24`; `nil` for any other text, and for days before 1970.
    package init?(_ text: some StringProtocol) {
        guard let time = CivilTime.milliseconds(rfc3339: "\(text)T00:00:00Z"), time >= 0 else { return nil }
        self.number = UInt32(time / 86_400_000)
    }

    /// The next day; the last day returns itself.
    package var next: Day { Day(number: self.number == .max ? .max : self.number + 1) }

    /// The end of the day.
    package var end: Date { Date(timeIntervalSince1970: (Double(self.number) + 1) * 86_400) }

    package var description: String {
        String(CivilTime(secondsSince1970: Int(self.number) * 86_400).rfc3339.prefix { $0 != "T" })
    }

    package static func < (left: Day, right: Day) -> Bool { left.number < right.number }
}
