internal import CivilTime
internal import Foundation
internal import PushAPI
internal import PushCore

extension Query {
    /// The longest period, in seconds: about a century, since longer periods have no use.
    private static let longestPeriod = 36_500 * 86_400

    /// The beginning of a period that ends now: a time in RFC 3339, or a length such as `90m`.
    ///
    /// `nil` if the parameter is missing. Throws an `invalid-parameter` problem for any other
    /// text.
    func beginning(_ name: String, now: Date) throws(Problem) -> Date? {
        guard let text = try self[name] else { return nil }
        if let milliseconds = CivilTime.milliseconds(rfc3339: text) {
            return Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
        }
        // A period must have a unit: the caller may have meant a bare number as a time.
        guard
            text.last?.isNumber == false, let seconds = Int(secondsOf: text),
            (0...Self.longestPeriod).contains(seconds)
        else {
            throw Problem(.invalidParameter, "\(name) must be a time as in RFC 3339, or a period such as 90m, 1h or 7d")
        }
        return now - TimeInterval(seconds)
    }
}
