package import Bytes
internal import CivilTime
public import Foundation

extension Date {
    /// The time in RFC 3339, in UTC and whole seconds: `2026-11-21T08:00:00Z`.
    public var rfc3339: String {
        CivilTime(secondsSince1970: Int(self.timeIntervalSince1970.rounded(.down))).rfc3339
    }

    /// Writes the text of `rfc3339`, 20 bytes.
    package func writeRFC3339(to writer: inout ByteWriter) {
        CivilTime(secondsSince1970: Int(self.timeIntervalSince1970.rounded(.down))).writeRFC3339(to: &writer)
    }

    /// Reads any RFC 3339 time in whole seconds; `nil` for any other text.
    public init?(rfc3339 text: String) {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        self = date
    }
}
