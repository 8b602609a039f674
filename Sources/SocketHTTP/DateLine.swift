internal import Glibc

/// The `Date` field line, worked out once a second.
struct DateLine {
    private var second: Int?
    private var line: [UInt8] = []

    /// The line for that many seconds since 1970, with its CRLF.
    mutating func bytes(at second: Int) -> [UInt8] {
        if second != self.second {
            self.second = second
            self.line = Array("Date: \(Self.text(second))\r\n".utf8)
        }
        return self.line
    }

    /// Seconds since 1970, from the clock that costs no system call.
    static var now: Int { max(0, time(nil)) }

    /// IMF-fixdate of RFC 9110 §5.6.7: English whatever the locale, always GMT.
    static func text(_ second: Int) -> String {
        let (days, rest) = (second / 86_400, second % 86_400)
        let (year, month, day) = Self.date(days)
        let names = (weekday: Self.weekdays[days % 7], month: Self.months[month - 1])
        let time = [rest / 3600, rest / 60 % 60, rest % 60].map(Self.twoDigits).joined(separator: ":")
        return "\(names.weekday), \(Self.twoDigits(day)) \(names.month) \(year) \(time) GMT"
    }

    /// Day 0 was a Thursday.
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func twoDigits(_ number: Int) -> String {
        number < 10 ? "0\(number)" : "\(number)"
    }

    /// The Gregorian date of a day since 1970, by Howard Hinnant's `civil_from_days`: years start in March there, so
    /// that a leap day comes last.
    private static func date(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let (era, dayOfEra) = (shifted / 146_097, shifted % 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }
}
