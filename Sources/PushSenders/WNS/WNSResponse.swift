internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads WNS' answers. The result is in the header fields; the body is empty.
enum WNSResponse {
    private static let channelDelay = Duration.seconds(600)
    private static let delayWhenThrottled = RetryAfter.longest
    private static let wordsOfABlock: Set<Substring> = [
        "ban", "banned", "block", "blocked", "domain", "suspend", "suspended",
    ]
    /// This module's word for an answer with 410 that concerns this server and not the device.
    private static let blocked = "blocked"

    static let table = OutcomeTable(
        accepted: 200...200,
        [
            .init(200...200, ["dropped"]) { .rejected(reason: $0.reason) },
            .init(200...200, ["channelthrottled"]) {
                .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? channelDelay)
            },
            .init(401...401) { .credentialExpired(reason: $0.reason) },
            // The channel belongs to another app, is unknown, or is not a channel's URL.
            .init(403...405) { .deviceUnknown(reason: $0.reason) },
            // WNS uses 406 for throttling, unlike HTTP.
            .init(406...406) { .overloaded(reason: $0.reason, retryAfter: $0.retryAfter ?? delayWhenThrottled) },
            .init(408...408) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(410...410, [blocked]) { .misconfigured(reason: $0.reason) },
            .init(410...410) { .deviceGone(reason: $0.reason) },
            .init(412...412) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(429...429) { $0.overloadedIfTimed() },
            .init(503...503) { $0.overloadedIfTimed() },
            .init(500...599) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            // Redirects are among these statuses. A device has named the channel, so the answer of
            // its host says nothing about other channels.
            .init(300...499) { .rejected(reason: $0.reason) },
        ]
    )

    static func outcome(_ response: OutboundResponse, now: Date) -> SendOutcome {
        // The second, longer name of the header field is in Microsoft's overview of raw pushes.
        let status = (response.header("x-wns-status") ?? response.header("x-wns-notificationstatus"))?.lowercased()
        let description = response.header("x-wns-error-description")
        let isBlocked = response.status == 410 && self.isBlocked(description)
        let reason = response.status == 200 ? ProviderWords.code(status) : nil
        let word = isBlocked ? self.blocked : reason
        return self.table.outcome(
            of: ProviderAnswer(
                response,
                words: word.map { [$0] } ?? [],
                reason: reason ?? ProviderWords.anonymousSentence(description),
                providerID: ProviderWords.code(response.header("x-wns-msg-id")),
                now: now
            )
        )
    }

    /// Whether WNS has blocked the sender. In that case WNS answers 410, too, so that every device
    /// would seem gone. Only the error description shows the difference, and its wording is not
    /// documented.
    private static func isBlocked(_ description: String?) -> Bool {
        // Only whole words count: `abandoned`, which concerns only a channel, contains `ban`.
        let words = (description ?? "").lowercased().split { !$0.isLetter }
        return words.contains { self.wordsOfABlock.contains($0) }
    }
}
