internal import CivilTime
internal import Glibc

/// A time as HTTP writes it, in whole seconds, RFC 9110 section 5.6.7.
package struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    private let seconds: time_t

    /// Seconds since 1970.
    package init(seconds: Int) {
        self.seconds = seconds
    }

    /// Reads any of the three formats that a recipient must accept; `nil` if it is none.
    package init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "," || $0 == "-" }.map(String.init)
        guard words.count == 5 || (words.count == 6 && words[5] == "GMT") else { return nil }
        // asctime has the year last and no zone: `Sun Nov  6 08:49:37 1994`.
        let isASCTime = words.count == 5
        let (day, month, year) = isASCTime ? (words[2], words[1], words[4]) : (words[1], words[2], words[3])
        let time = (isASCTime ? words[3] : words[4]).split(separator: ":", omittingEmptySubsequences: false)
        guard
            time.count == 3, let hour = Self.number(time[0], 0...23), let minute = Self.number(time[1], 0...59),
            let second = Self.number(time[2], 0...60), let day = Self.number(day, 1...31),
            let month = CivilTime.months.firstIndex(where: { $0.description == month }),
            let year = Self.number(year, 0...9999)
        else { return nil }
        var parts = tm()
        parts.tm_sec = second
        parts.tm_min = minute
        parts.tm_hour = hour
        parts.tm_mday = day
        parts.tm_mon = Int32(month)
        parts.tm_year = year >= 100 ? year - 1900 : Self.fullYear(ofTwoDigits: year) - 1900
        self.seconds = timegm(&parts)
    }

    package static func < (lhs: HTTPDate, rhs: HTTPDate) -> Bool {
        lhs.seconds < rhs.seconds
    }

    /// IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var description: String {
        CivilTime(secondsSince1970: self.seconds).imfFixdate
    }

    /// Appends what `description` gives, without making a string of it.
    package func append(to text: inout [UInt8]) {
        CivilTime(secondsSince1970: self.seconds).appendIMFFixdate(to: &text)
    }

    private static func number(_ text: some StringProtocol, _ range: ClosedRange<Int32>) -> Int32? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int32(text) else { return nil }
        return range.contains(number) ? number : nil
    }

    /// A fixed pivot instead of the RFC's moving one: clients stopped writing two digits last century.
    private static func fullYear(ofTwoDigits year: Int32) -> Int32 {
        year < 70 ? 2000 + year : 1900 + year
    }
}
