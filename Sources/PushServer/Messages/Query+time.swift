internal import CivilTime
internal import Foundation
internal import PushAPI

extension Query {
    /// The seconds of the units of a period.
    private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
    /// About a century: longer periods have no meaning, and must not overflow.
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
        guard
            let unit = text.last.flatMap({ Self.units[$0] }), let count = UInt32(text.dropLast()),
            case let (seconds, isTooLong) = Int(count).multipliedReportingOverflow(by: unit),
            !isTooLong, seconds <= Self.longestPeriod
        else {
            throw Problem(.invalidParameter, "\(name) must be a time as in RFC 3339, or a period such as 90m, 1h or 7d")
        }
        return now - TimeInterval(seconds)
    }
}
