internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads APNs' answers: https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
enum APNsResponse {
    /// Apple asks to wait so long after an error of its own.
    private static let restAfterServerError = Duration.seconds(15 * 60)
    private static let restAfterTooMany = Duration.seconds(60)

    static func verdict(_ response: OutboundResponse, now: Date) -> Verdict {
        if response.status == 200 {
            return .accepted(Acceptance(providerID: ProviderWords.code(response.header("apns-id"))))
        }
        // Something between us and Apple may answer without JSON; then the status is all there is.
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        let word = ProviderWords.code(answer?.reason)
        let reason = word ?? "HTTP \(response.status)"
        let retryAfter = RetryAfter.duration(response.header("retry-after"), now: now)
        switch (response.status, word) {
        case (403, "ExpiredProviderToken"):
            return .tokenExpired(reason: reason)
        case (410, _):
            // Milliseconds, unlike every other time that APNs speaks of.
            let since = answer?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) }
            return .failed(.deviceGone(reason: reason, since: since))
        case (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic"):
            return .failed(.deviceGone(reason: reason))
        case (400, "IdleTimeout"):
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter))
        case (400, "BadTopic"), (400, "TopicDisallowed"), (400, "MissingTopic"), (400, "InvalidPushType"),
            (400, "BadPriority"), (400, "BadCertificate"):
            return .failed(.misconfigured(reason: reason))
        // A key that does not fit its connection: ours carries the tokens of one key only, so a new one would not help.
        case (403, _), (404, _), (405, _), (300..<400, _):
            return .failed(.misconfigured(reason: reason))
        case (429, _):
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter ?? Self.restAfterTooMany))
        case (503, "Shutdown"):
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter))
        case (500..., _):
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter ?? Self.restAfterServerError))
        case (400..<500, _):
            return .failed(.rejected(reason: reason))
        default:
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter))
        }
    }

    private struct Answer: Decodable {
        let reason: String
        let timestamp: Double?
    }
}
