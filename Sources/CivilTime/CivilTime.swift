/// A time of day and date in UTC, in the Gregorian calendar, with the texts that HTTP and JSON want.
///
/// Not `gmtime_r(3)`: in glibc it takes a lock of the whole process, and event loops that wrote four times in each answer
/// waited for each other. Not a `DateFormatter`, which costs more than all the rest of an answer.
package struct CivilTime: Sendable, Hashable {
    package let year: Int
    package let month: Int
    package let day: Int
    /// Sunday is 0.
    package let weekday: Int
    package let hour: Int
    package let minute: Int
    package let second: Int

    /// The time so many seconds after 1970 began, or before; leap seconds do not count, as in POSIX.
    ///
    /// The date is by Howard Hinnant's `civil_from_days`: years start in March there, so that a leap day comes last.
    package init(secondsSince1970 seconds: Int) {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let rest = seconds - days * 86_400
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        self.month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        self.year = yearOfEra + era * 400 + (self.month <= 2 ? 1 : 0)
        // Day 0 was a Thursday.
        self.weekday = ((days + 4) % 7 + 7) % 7
        (self.hour, self.minute, self.second) = (rest / 3600, rest / 60 % 60, rest % 60)
    }

    /// RFC 3339: `2026-11-21T08:00:00Z`.
    package var rfc3339: String {
        var text = Text()
        text.append(self.year, width: 4)
        text.append("-")
        text.append(self.month, width: 2)
        text.append("-")
        text.append(self.day, width: 2)
        text.append("T")
        text.appendTime(self)
        text.append("Z")
        return text.string
    }

    /// IMF-fixdate of RFC 9110 section 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var imfFixdate: String {
        var text = Text()
        text.append(Self.weekdays[self.weekday])
        text.append(", ")
        text.append(self.day, width: 2)
        text.append(" ")
        text.append(Self.months[self.month - 1])
        text.append(" ")
        text.append(self.year, width: 4)
        text.append(" ")
        text.appendTime(self)
        text.append(" GMT")
        return text.string
    }

    package static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    private static let weekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
}

/// Digits into bytes, without a string for each number.
private struct Text {
    private var bytes: [UInt8] = []

    init() {
        self.bytes.reserveCapacity(32)
    }

    var string: String { String(decoding: self.bytes, as: UTF8.self) }

    mutating func append(_ text: StaticString) {
        self.bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The last digits, with zeros before them.
    mutating func append(_ number: Int, width: Int) {
        var divisor = width == 4 ? 1000 : 10
        while divisor > 0 {
            self.bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: abs(number) / divisor % 10))
            divisor /= 10
        }
    }

    mutating func appendTime(_ time: CivilTime) {
        self.append(time.hour, width: 2)
        self.append(":")
        self.append(time.minute, width: 2)
        self.append(":")
        self.append(time.second, width: 2)
    }
}
