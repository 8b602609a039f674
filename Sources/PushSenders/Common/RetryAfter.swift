internal import Bytes
internal import CivilTime
package import Foundation

/// Reads the field `Retry-After` (RFC 9110 section 10.2.3), which contains a number of seconds or
/// an HTTP date.
package enum RetryAfter {
    /// The longest accepted wait; a longer one is shortened to it.
    static let longest = Duration.seconds(3600)

    /// The time to wait; `nil` if the field is absent or malformed, or names no time in the
    /// future.
    ///
    /// Some servers send 0 while they are overloaded. A client that followed this would call such
    /// a server again right after each answer. So 0 counts as no field, and the sender's own
    /// delays apply.
    package static func duration(_ text: String?, now: Date) -> Duration? {
        guard let text else { return nil }
        if text.utf8.allSatisfy(\.isDigit), !text.isEmpty {
            // A number that is too large for `Int64` counts as the longest wait.
            let seconds = Int64(text) ?? .max
            return seconds > 0 ? min(.seconds(seconds), self.longest) : nil
        }
        guard let date = HTTPDate(text) else { return nil }
        let seconds = (TimeInterval(date.seconds) - now.timeIntervalSince1970).rounded(.up)
        return seconds > 0 ? min(.seconds(seconds), self.longest) : nil
    }
}
