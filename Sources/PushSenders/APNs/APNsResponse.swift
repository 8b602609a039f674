internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads APNs' answers:
/// https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
enum APNsResponse {
    /// The delay that Apple requests after an error of its servers. The first retry comes earlier:
    /// a user who waits for a confirmation code cannot wait so long, and one more call is no
    /// burden for Apple. The error `Shutdown` needs no delay, only a new connection.
    private static let delayAfterServerError = Duration.seconds(15 * 60)
    private static let delayAfterTooMany = Duration.seconds(60)

    static let table = OutcomeTable(
        accepted: 200...200,
        [
            .init(400...400, ["BadDeviceToken", "DeviceTokenNotForTopic"]) { .deviceUnknown(reason: $0.reason) },
            .init(400...400, ["IdleTimeout"]) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(400...400, ["BadTopic", "TopicDisallowed", "MissingTopic", "InvalidPushType"]) {
                .misconfigured(reason: $0.reason)
            },
            .init(400...400, ["BadPriority", "BadCertificate"]) { .misconfigured(reason: $0.reason) },
            .init(403...403, ["ExpiredProviderToken"]) { .credentialExpired(reason: $0.reasonOfToken) },
            // Apple now and then calls a token invalid that it accepts a moment later.
            .init(403...403, ["InvalidProviderToken"]) { .credentialRefused(reason: $0.reasonOfToken) },
            // One of the reasons for 403 is that a token's key differs from the key of earlier
            // tokens on the connection. This server's connections carry the tokens of one key
            // only, so a new connection would not help.
            .init(403...405) { .misconfigured(reason: $0.reason) },
            .init(410...410) { .deviceGone(reason: $0.reason, since: $0.since) },
            .init(429...429, ["TooManyRequests"]) {
                .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? delayAfterTooMany)
            },
            .init(429...429) { .overloaded(reason: $0.reason, retryAfter: $0.retryAfter ?? delayAfterTooMany) },
            .init(400...499) { .rejected(reason: $0.reason) },
            .init(503...503, ["Shutdown"]) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(503...503) { $0.overloadedIfTimed(orElse: delayAfterServerError, sparingFirst: true) },
            .init(500...599) {
                .unavailable(
                    reason: $0.reason,
                    retryAfter: $0.retryAfter ?? delayAfterServerError,
                    sparesFirst: $0.retryAfter == nil
                )
            },
            .init(300...399) { .misconfigured(reason: $0.reason) },
        ]
    )

    static func outcome(_ response: OutboundResponse, now: Date) -> SendOutcome {
        // A proxy or gateway may answer in place of Apple, without JSON; then only the status is
        // known.
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        let word = ProviderWords.code(answer?.reason)
        return self.table.outcome(
            of: ProviderAnswer(
                response,
                words: word.map { [$0] } ?? [],
                reason: word,
                providerID: ProviderWords.code(response.header("apns-id")),
                // The time is in milliseconds, unlike every other time in APNs.
                since: answer?.timestamp.map { Date(timeIntervalSince1970: $0 / 1000) },
                now: now
            )
        )
    }

    private struct Answer: Decodable {
        let reason: String
        let timestamp: Double?
    }
}
