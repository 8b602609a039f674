extension CivilTime {
    /// The milliseconds since 1970 of a time in RFC 3339, `2026-11-22T08:30:00.5+01:00`; `nil` for
    /// any other text.
    ///
    /// The zone is required. Digits below a millisecond are dropped.
    package static func milliseconds(rfc3339 text: String) -> Int? {
        var rest = Array(text.utf8)[...]
        guard
            let year = rest.takeNumber(4), rest.take("-"), let month = rest.takeNumber(2), rest.take("-"),
            let day = rest.takeNumber(2), rest.take("T", "t", " "), let hour = rest.takeNumber(2), rest.take(":"),
            let minute = rest.takeNumber(2), rest.take(":"), let second = rest.takeNumber(2),
            let fraction = rest.takeFraction(), let offset = rest.takeOffset(), rest.isEmpty,
            let time = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        return (time.secondsSince1970 - offset * 60) * 1000 + fraction
    }
}

extension ArraySlice<UInt8> {
    /// Removes the next character if it is one of `characters`.
    fileprivate mutating func take(_ characters: Unicode.Scalar...) -> Bool {
        guard let first, characters.contains(Unicode.Scalar(first)) else { return false }
        self.removeFirst()
        return true
    }

    /// Reads a number of `digits` digits, at most four; returns `nil` if the text does not go on
    /// with such a number.
    fileprivate mutating func takeNumber(_ digits: Int) -> Int? {
        let part = self.prefix(digits)
        guard part.count == digits, part.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        self.removeFirst(digits)
        return part.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    /// Reads the fraction of a second, in whole milliseconds; 0 if there is none, and `nil` if it
    /// has no digits or more than nine.
    fileprivate mutating func takeFraction() -> Int? {
        guard self.take(".") else { return 0 }
        let digits = self.prefix { (0x30...0x39).contains($0) }
        guard (1...9).contains(digits.count) else { return nil }
        self.removeFirst(digits.count)
        return (0..<3).reduce(0) { sum, index in
            let digit = index < digits.count ? digits[digits.startIndex + index] - 0x30 : 0
            return sum * 10 + Int(digit)
        }
    }

    /// Reads the offset from UTC in minutes; returns `nil` if the text has no offset.
    fileprivate mutating func takeOffset() -> Int? {
        if self.take("Z", "z") { return 0 }
        let isWest = self.first == UInt8(ascii: "-")
        guard
            self.take("+", "-"), let hours = self.takeNumber(2), self.take(":"), let minutes = self.takeNumber(2),
            hours < 24, minutes < 60
        else { return nil }
        return (isWest ? -1 : 1) * (hours * 60 + minutes)
    }
}
