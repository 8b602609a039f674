package import Bytes

/// A date and a time of day in UTC, in the Gregorian calendar, with the text forms that HTTP and
/// JSON use.
///
/// `gmtime_r(3)` is no alternative: in glibc it locks a mutex of the whole process, so event loops
/// that called it four times for each answer waited for each other. A `DateFormatter` costs more
/// than the rest of an answer.
package struct CivilTime: Sendable, Hashable {
    package let year: Int
    package let month: Int
    package let day: Int
    /// The day of the week; Sunday is 0.
    package let weekday: Int
    package let hour: Int
    package let minute: Int
    package let second: Int

    /// The time this many seconds after the start of 1970, or before it if negative; leap seconds
    /// do not count, as in POSIX.
    ///
    /// The date is computed by Howard Hinnant's `civil_from_days`: its years start in March, so
    /// that a leap day comes last.
    package init(secondsSince1970 seconds: Int) {
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        // The numbers below are small. In 32 bits and without checks for overflow, their divisions
        // take half the instructions.
        let rest = UInt32(truncatingIfNeeded: seconds &- days &* 86_400)
        let dayOfEra = UInt32(truncatingIfNeeded: shifted &- era &* 146_097)
        let yearOfEra = (dayOfEra &- dayOfEra / 1460 &+ dayOfEra / 36_524 &- dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra &- (365 &* yearOfEra &+ yearOfEra / 4 &- yearOfEra / 100)
        let shiftedMonth = (5 &* dayOfYear &+ 2) / 153
        self.day = Int(dayOfYear &- (153 &* shiftedMonth &+ 2) / 5 &+ 1)
        self.month = Int(shiftedMonth < 10 ? shiftedMonth &+ 3 : shiftedMonth &- 9)
        self.year = Int(yearOfEra) + era * 400 + (self.month <= 2 ? 1 : 0)
        // Each era begins with a Wednesday, since it has a whole number of weeks.
        self.weekday = Int((dayOfEra &+ 3) % 7)
        (self.hour, self.minute, self.second) = (Int(rest / 3600), Int(rest / 60 % 60), Int(rest % 60))
    }

    /// Returns `nil` if the day or the time does not exist; a leap second, 60, is the first second
    /// of the next minute.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard
            (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        let midnight = Self.days(year: year, month: month, day: day) * 86_400
        // A day that the month does not have becomes a day of the next month.
        guard CivilTime(secondsSince1970: midnight).day == day else { return nil }
        self.init(secondsSince1970: midnight + hour * 3600 + minute * 60 + second)
    }

    /// The inverse of `init(secondsSince1970:)`.
    package var secondsSince1970: Int {
        let days = Self.days(year: self.year, month: self.month, day: self.day)
        return days * 86_400 + self.hour * 3600 + self.minute * 60 + self.second
    }

    /// The number of days from the beginning of 1970 to a date, Howard Hinnant's
    /// `days_from_civil`.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// RFC 3339: `2026-11-21T08:00:00Z`.
    package var rfc3339: String { Self.text { self.writeRFC3339(to: &$0) } }

    /// IMF-fixdate of RFC 9110 section 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var imfFixdate: String { Self.text { self.writeIMFFixdate(to: &$0) } }

    /// Writes the text of `rfc3339`, 20 bytes.
    package func writeRFC3339(to writer: inout ByteWriter) {
        writer.write(filling: "0000-00-00T00:00:00Z") { text in
            (text + 0).put(self.year / 100)
            (text + 2).put(self.year)
            (text + 5).put(self.month)
            (text + 8).put(self.day)
            self.putClock(in: text + 11)
        }
    }

    /// Writes the text of `imfFixdate`, 29 bytes.
    package func writeIMFFixdate(to writer: inout ByteWriter) {
        writer.write(filling: "Sun, 00 Jan 0000 00:00:00 GMT") { text in
            text.put(Self.name(ofWeekday: self.weekday))
            (text + 5).put(self.day)
            (text + 8).put(Self.name(ofMonth: self.month - 1))
            (text + 12).put(self.year / 100)
            (text + 14).put(self.year)
            self.putClock(in: text + 17)
        }
    }

    /// Writes the digits of hour, minute and second between their colons.
    @inline(__always)
    private func putClock(in text: UnsafeMutablePointer<UInt8>) {
        (text + 0).put(self.hour)
        (text + 3).put(self.minute)
        (text + 6).put(self.second)
    }

    private static func text(_ write: (inout ByteWriter) -> Void) -> String {
        var text: [UInt8] = []
        text.append(upTo: 32, write)
        return String(decoding: text, as: UTF8.self)
    }

    /// The three letters of a month; January is 0.
    static func name(ofMonth month: Int) -> UnsafeBufferPointer<UInt8> {
        let names: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
        return UnsafeBufferPointer(start: names.utf8Start + month * 3, count: 3)
    }

    /// The three letters of a weekday; Sunday is 0.
    private static func name(ofWeekday weekday: Int) -> UnsafeBufferPointer<UInt8> {
        let names: StaticString = "SunMonTueWedThuFriSat"
        return UnsafeBufferPointer(start: names.utf8Start + weekday * 3, count: 3)
    }
}

extension ByteWriter {
    /// Writes a text and lets `fill` put digits over its zeros.
    @inline(__always)
    fileprivate mutating func write(filling text: StaticString, _ fill: (UnsafeMutablePointer<UInt8>) -> Void) {
        self.write(count: text.utf8CodeUnitCount) { memory in
            memory.copyMemory(from: UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
            memory.withMemoryRebound(to: UInt8.self) { $0.baseAddress.map(fill) }
        }
    }
}

extension UnsafeMutablePointer<UInt8> {
    /// Writes the last two digits of `number`.
    @inline(__always)
    fileprivate func put(_ number: Int) {
        self.put(pair: number.magnitude % 100)
    }

    /// Writes three letters.
    @inline(__always)
    fileprivate func put(_ letters: UnsafeBufferPointer<UInt8>) {
        for index in 0..<3 { self[index] = letters[index] }
    }
}
