internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads APNs' answers: https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
enum APNsResponse {
    /// Apple asks to wait so long after an error of its own; after `Shutdown`, only for a new connection.
    private static let restAfterServerError = Duration.seconds(15 * 60)
    private static let restAfterTooMany = Duration.seconds(60)

    static let table = ReactionTable([
        (200...200, [], .accepted),
        (400...400, ["BadDeviceToken", "DeviceTokenNotForTopic"], .deviceUnknown),
        (400...400, ["IdleTimeout"], .unavailable()),
        (
            400...400,
            ["BadTopic", "TopicDisallowed", "MissingTopic", "InvalidPushType", "BadPriority", "BadCertificate"],
            .misconfigured
        ),
        (403...403, ["ExpiredProviderToken"], .renewToken),
        // A key that does not fit its connection is among them: ours carry the tokens of one key only, so that a new
        // connection would not help.
        (403...405, [], .misconfigured),
        (410...410, [], .deviceGone),
        (429...429, ["TooManyRequests"], .deviceBusy(rest: Self.restAfterTooMany)),
        (429...429, [], .overloaded(rest: Self.restAfterTooMany)),
        (400...499, [], .rejected),
        (500...500, [], .unavailable(rest: Self.restAfterServerError)),
        (503...503, ["Shutdown"], .unavailable()),
        (503...503, [], .overloadedIfTimed(rest: Self.restAfterServerError)),
        (500...599, [], .unavailable(rest: Self.restAfterServerError)),
        (300...399, [], .misconfigured),
    ])

    static func verdict(_ response: OutboundResponse, now: Date) -> Verdict {
        // Something between us and Apple may answer without JSON; then the status is all there is.
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        let word = ProviderWords.code(answer?.reason)
        return Verdict(
            self.table.reaction(to: response.status, word),
            to: response,
            reason: word,
            providerID: ProviderWords.code(response.header("apns-id")),
            // Milliseconds, unlike every other time that APNs speaks of.
            since: answer?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) },
            now: now
        )
    }

    private struct Answer: Decodable {
        let reason: String
        let timestamp: Double?
    }
}
