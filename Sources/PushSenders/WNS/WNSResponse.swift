internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads WNS' answers, which stand in the header; the body is empty.
enum WNSResponse {
    private static let restOfChannel = Duration.seconds(600)
    private static let restWhenThrottled = RetryAfter.longest

    static func verdict(_ response: OutboundResponse, now: Date) -> Verdict {
        // The overview of raw pushes calls the header by the longer name.
        let status = response.header("x-wns-status") ?? response.header("x-wns-notificationstatus")
        let description = response.header("x-wns-error-description")
        let reason = ProviderWords.sentence(description) ?? "HTTP \(response.status)"
        let retryAfter = RetryAfter.duration(response.header("retry-after"), now: now)
        switch response.status {
        case 200:
            switch status?.lowercased() {
            case "dropped": return .failed(.rejected(reason: "dropped"))
            case "channelthrottled":
                return .failed(.unavailable(reason: "channelthrottled", retryAfter: retryAfter ?? Self.restOfChannel))
            default:
                return .accepted(Acceptance(providerID: ProviderWords.code(response.header("x-wns-msg-id"))))
            }
        case 401: return .tokenExpired(reason: reason)
        case 405: return .failed(.misconfigured(reason: reason))
        // A channel of another app: its device can never be reached with our credentials.
        case 403, 404: return .failed(.deviceGone(reason: reason))
        case 410:
            return .failed(Self.isBlocked(description) ? .misconfigured(reason: reason) : .deviceGone(reason: reason))
        // Throttled, whatever HTTP says the number means.
        case 406: return .failed(.unavailable(reason: reason, retryAfter: retryAfter ?? Self.restWhenThrottled))
        case 408, 412, 429, 500...: return .failed(.unavailable(reason: reason, retryAfter: retryAfter))
        default: return .failed(.rejected(reason: reason))
        }
    }

    /// WNS also answers 410 when it has blocked the sender, and then every device would seem gone. Only the sentence
    /// tells, and its wording is not documented.
    private static func isBlocked(_ description: String?) -> Bool {
        let text = (description ?? "").lowercased()
        return ["block", "domain", "suspend", "ban"].contains { text.contains($0) }
    }
}
