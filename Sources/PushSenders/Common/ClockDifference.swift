internal import CivilTime
package import CurlHTTP
package import Foundation

/// How far this machine's clock is ahead of another server's clock, according to the field `Date`
/// of that server's answer.
///
/// A provider refuses a valid token if the times in it do not agree with the provider's clock. The
/// reason of the refusal names only the token; a comparison of the clocks shows the cause.
package struct ClockDifference: Sendable, Hashable {
    /// Smaller differences, in seconds, are ignored: the network and rounding may cause them.
    static let tolerated: TimeInterval = 60
    /// From a difference of this many seconds on, providers refuse tokens: Google allows five
    /// minutes.
    private static let refused: TimeInterval = 300

    /// The difference in seconds; negative if this machine's clock is behind.
    let ahead: TimeInterval

    /// Returns `nil` if the answer has no valid `Date`, or if the clocks agree.
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

    /// The reason why a token was refused, followed by the difference between the clocks, if they
    /// differ.
    static func explain(_ reason: String, _ response: OutboundResponse, now: Date) -> String {
        guard let difference = ClockDifference(response, now: now) else { return reason }
        return "\(reason); this machine's clock is \(difference.text) the provider's"
    }
}
