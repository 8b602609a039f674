internal import CivilTime
package import CurlHTTP
package import Foundation

/// How far this machine's clock is ahead of that of a server, by the field `Date` of its answer.
///
/// A provider refuses a good token whose times do not fit its own clock. Its words then name the
/// token; only the comparison shows that the clock is at fault.
package struct ClockDifference: Sendable, Hashable {
    /// A difference of so many seconds may be that of the network and of rounding.
    static let tolerated: TimeInterval = 60
    /// From this many seconds on providers refuse tokens: Google allows five minutes.
    private static let refused: TimeInterval = 300

    /// In seconds; negative: this machine's clock is behind.
    let ahead: TimeInterval

    /// `nil` if the answer has no valid `Date`, or if the clocks agree.
    package init?(_ response: OutboundResponse, now: Date) {
        guard let date = response.header("date").flatMap({ HTTPDate($0) }) else { return nil }
        let ahead = now.timeIntervalSince1970 - TimeInterval(date.seconds)
        guard abs(ahead) >= Self.tolerated else { return nil }
        self.ahead = ahead
    }

    /// Whether providers refuse tokens because of it.
    package var isRefused: Bool { abs(self.ahead) >= Self.refused }

    /// For the reason of a refusal, such as `75 minutes ahead of`.
    package var text: String {
        let seconds = abs(self.ahead)
        let (value, unit) =
            switch seconds {
            case ..<120: (seconds, "seconds")
            case ..<7200: (seconds / 60, "minutes")
            case ..<172_800: (seconds / 3600, "hours")
            default: (seconds / 86_400, "days")
            }
        return "\(Int(value.rounded())) \(unit) \(self.ahead > 0 ? "ahead of" : "behind")"
    }

    /// Adds the difference to the reason of a refused token.
    static func explain(_ reason: String, _ response: OutboundResponse, now: Date) -> String {
        guard let difference = ClockDifference(response, now: now) else { return reason }
        return "\(reason); this machine's clock is \(difference.text) the provider's"
    }
}
