internal import Bytes
internal import CivilTime
internal import Foundation

/// The `Retry-After` field, RFC 9110 section 10.2.3: seconds or an HTTP-date.
enum RetryAfter {
    /// A provider that names more is not believed.
    static let longest = Duration.seconds(3600)

    /// `nil` for what is absent, negative, past or no such field.
    static func duration(_ text: String?, now: Date) -> Duration? {
        guard let text else { return nil }
        if text.utf8.allSatisfy(\.isDigit), !text.isEmpty {
            // More digits than a number holds is as long as can be.
            return min(.seconds(Int64(text) ?? .max), self.longest)
        }
        guard let date = HTTPDate(text) else { return nil }
        let seconds = (TimeInterval(date.seconds) - now.timeIntervalSince1970).rounded(.up)
        return seconds >= 0 ? min(.seconds(seconds), self.longest) : nil
    }
}
