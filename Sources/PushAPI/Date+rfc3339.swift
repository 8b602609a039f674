internal import CivilTime
public import Foundation

extension Date {
    /// The time in RFC 3339, in UTC and whole seconds: `2026-11-21T08:00:00Z`.
    public var rfc3339: String {
        CivilTime(secondsSince1970: Int(self.timeIntervalSince1970.rounded(.down))).rfc3339
    }

    /// Appends the text of `rfc3339` without creating a string.
    package func appendRFC3339(to text: inout [UInt8]) {
        CivilTime(secondsSince1970: Int(self.timeIntervalSince1970.rounded(.down))).appendRFC3339(to: &text)
    }

    /// Reads any RFC 3339 time in whole seconds; `nil` for any other text.
    public init?(rfc3339 text: String) {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        self = date
    }
}
