internal import Foundation

/// The `Retry-After` field, RFC 9110 section 10.2.3: seconds or an HTTP-date.
enum RetryAfter {
    /// A provider that names more is not believed.
    static let longest = Duration.seconds(3600)

    /// `nil` for what is absent, negative, past or no such field.
    static func duration(_ text: String?, now: Date) -> Duration? {
        guard let text else { return nil }
        if text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), !text.isEmpty {
            // More digits than a number holds is as long as can be.
            return min(.seconds(Int64(text) ?? .max), self.longest)
        }
        guard let date = self.date(text) else { return nil }
        let seconds = date.timeIntervalSince(now).rounded(.up)
        return seconds >= 0 ? min(.seconds(seconds), self.longest) : nil
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads an IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`; no provider sends one of the two obsolete forms.
    private static func date(_ text: String) -> Date? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[5] == "GMT" else { return nil }
        let time = parts[4].split(separator: ":", omittingEmptySubsequences: false)
        guard
            time.count == 3, let month = self.months.firstIndex(of: String(parts[2])),
            let day = self.number(parts[1], 1...31), let year = self.number(parts[3], 1970...9999),
            let hour = self.number(time[0], 0...23), let minute = self.number(time[1], 0...59),
            let second = self.number(time[2], 0...60)
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let components = DateComponents(
            year: year,
            month: month + 1,
            day: day,
            hour: hour,
            minute: minute,
            second: second
        )
        return calendar.date(from: components)
    }

    /// Digits only: `Int` would take a sign as well.
    private static func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
}
