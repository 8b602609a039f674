public import Foundation

extension Date {
    /// The time in RFC 3339, in UTC and whole seconds: `2026-11-21T08:00:00Z`.
    public var rfc3339: String {
        var seconds = time_t(self.timeIntervalSince1970.rounded(.down))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = String(parts.tm_year + 1900)
        for (separator, number) in [
            ("-", parts.tm_mon + 1), ("-", parts.tm_mday), ("T", parts.tm_hour), (":", parts.tm_min),
            (":", parts.tm_sec),
        ] {
            text += separator
            text += number < 10 ? "0\(number)" : "\(number)"
        }
        return text + "Z"
    }

    /// Reads any RFC 3339 time in whole seconds; `nil` if the text is none.
    public init?(rfc3339 text: String) {
        guard let date = try? Date(text, strategy: .iso8601) else { return nil }
        self = date
    }
}
