internal import Bytes
internal import CivilTime
package import Foundation

/// The `Retry-After` field, RFC 9110 section 10.2.3: seconds or an HTTP-date.
package enum RetryAfter {
    /// The longest accepted wait; a longer one is shortened to it.
    static let longest = Duration.seconds(3600)

    /// `nil` if the field is absent, malformed, or not in the future.
    ///
    /// Some servers send 0 for as long as they are overloaded. A lane that obeyed would call them
    /// again as soon as they have answered. So 0 counts as no field, and the lane's own backoff
    /// applies.
    package static func duration(_ text: String?, now: Date) -> Duration? {
        guard let text else { return nil }
        if text.utf8.allSatisfy(\.isDigit), !text.isEmpty {
            // More digits than `Int64` holds count as the longest wait.
            let seconds = Int64(text) ?? .max
            return seconds > 0 ? min(.seconds(seconds), self.longest) : nil
        }
        guard let date = HTTPDate(text) else { return nil }
        let seconds = (TimeInterval(date.seconds) - now.timeIntervalSince1970).rounded(.up)
        return seconds > 0 ? min(.seconds(seconds), self.longest) : nil
    }
}
