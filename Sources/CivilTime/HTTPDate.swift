package import Bytes

/// A time in HTTP's format, in whole seconds, RFC 9110 section 5.6.7.
package struct HTTPDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of seconds since 1970.
    package let seconds: Int

    package init(seconds: Int) {
        self.seconds = seconds
    }

    /// Reads any of the three formats that a recipient must accept; `nil` for another format or a
    /// day that does not exist.
    ///
    /// The weekday is not compared with the date.
    package init?(_ text: String) {
        let separators = " ,-".utf8
        let words = text.utf8.split { separators.contains($0) }
        guard words.count == 5 || (words.count == 6 && words[5].elementsEqual("GMT".utf8)) else { return nil }
        // asctime has the year last and no zone: `Sun Nov  6 08:49:37 1994`.
        let isASCTime = words.count == 5
        let (day, month, year) = isASCTime ? (words[2], words[1], words[4]) : (words[1], words[2], words[3])
        let clock = (isASCTime ? words[3] : words[4]).split(
            separator: UInt8(ascii: ":"),
            omittingEmptySubsequences: false
        )
        guard
            clock.count == 3, let hour = Self.number(clock[0]), let minute = Self.number(clock[1]),
            let second = Self.number(clock[2]), let day = Self.number(day), let year = Self.number(year),
            let month = (0..<12).first(where: { month.elementsEqual(CivilTime.name(ofMonth: $0)) }),
            let time = CivilTime(
                year: year >= 100 ? year : Self.fullYear(ofTwoDigits: year),
                month: month + 1,
                day: day,
                hour: hour,
                minute: minute,
                second: second
            )
        else { return nil }
        self.seconds = time.secondsSince1970
    }

    package static func < (lhs: HTTPDate, rhs: HTTPDate) -> Bool {
        lhs.seconds < rhs.seconds
    }

    /// IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var description: String {
        CivilTime(secondsSince1970: self.seconds).imfFixdate
    }

    /// Writes `description`, 29 bytes.
    package func write(to writer: inout ByteWriter) {
        CivilTime(secondsSince1970: self.seconds).writeIMFFixdate(to: &writer)
    }

    // MARK: - Private

    /// Reads one to four digits and nothing else: `Int` would accept a sign.
    private static func number(_ digits: Substring.UTF8View) -> Int? {
        guard (1...4).contains(digits.count), digits.allSatisfy(\.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// A year of two digits is after 2000 if it is below 70. The RFC instead compares it with the
    /// present year, but nobody has written years with two digits since the last century.
    private static func fullYear(ofTwoDigits year: Int) -> Int {
        year < 70 ? 2000 + year : 1900 + year
    }
}
