internal import CivilTime
package import CurlHTTP
package import Foundation

/// How far this machine's clock is ahead of that of a server, by the field `Date` of its answer.
///
/// A provider refuses a good token whose times do not fit the provider's own clock. The refusal
/// then blames the token; only a comparison of the clocks shows the cause.
package struct ClockDifference: Sendable, Hashable {
    /// Smaller differences count as none: they may come from the network and from rounding.
    static let tolerated: TimeInterval = 60
    /// From a difference of this many seconds on, providers refuse tokens: Google allows five
    /// minutes.
    private static let refused: TimeInterval = 300

    /// The difference in seconds; negative if this machine's clock is behind.
    let ahead: TimeInterval

    /// `nil` if the answer has no valid `Date`, or if the clocks agree.
    package init?(_ response: OutboundResponse, now: Date) {
        guard let date = response.header("date").flatMap({ HTTPDate($0) }) else { return nil }
        let ahead = now.timeIntervalSince1970 - TimeInterval(date.seconds)
        guard abs(ahead) >= Self.tolerated else { return nil }
        self.ahead = ahead
    }

    /// Whether providers refuse tokens because of this difference.
    package var isRefused: Bool { abs(self.ahead) >= Self.refused }

    /// The difference in words for the reason of a refusal, such as `75 minutes ahead of`.
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
