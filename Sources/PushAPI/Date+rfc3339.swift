public import Foundation

extension Date {
    /// The time in RFC 3339, in UTC and whole seconds: `2026-11-21T08:00:00Z`.
    public var rfc3339: String {
        let days = Int((self.timeIntervalSince1970 / 86_400).rounded(.down))
        let seconds = Int(self.timeIntervalSince1970.rounded(.down)) - days * 86_400
        let (year, month, day) = Self.civil(daysSince1970: days)
        return Self.padded(year, 4) + "-" + Self.padded(month, 2) + "-" + Self.padded(day, 2)
            + "T" + Self.padded(seconds / 3600, 2) + ":" + Self.padded(seconds / 60 % 60, 2) + ":"
            + Self.padded(seconds % 60, 2) + "Z"
    }

    /// Reads what `rfc3339` writes, and any other RFC 3339 time.
    public init?(rfc3339 text: String) {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        self = date
    }

    /// The proleptic Gregorian date: Howard Hinnant's `civil_from_days`, exact for any day that fits.
    private static func civil(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}
