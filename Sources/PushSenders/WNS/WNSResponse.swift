internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads WNS' answers, which stand in the header; the body is empty.
enum WNSResponse {
    private static let restOfChannel = Duration.seconds(600)
    private static let restWhenThrottled = RetryAfter.longest
    /// Ours, for a 410 that is about the sender.
    private static let blocked = "blocked"

    static let table = ReactionTable([
        (200...200, ["dropped"], .rejected),
        (200...200, ["channelthrottled"], .deviceBusy(rest: Self.restOfChannel)),
        (200...200, [], .accepted),
        (401...401, [], .renewToken),
        // A channel of another app, or one that WNS does not know.
        (403...404, [], .deviceUnknown),
        (405...405, [], .misconfigured),
        // Throttled, whatever HTTP says the number means.
        (406...406, [], .overloaded(rest: Self.restWhenThrottled)),
        (408...408, [], .unavailable()),
        (410...410, [Self.blocked], .misconfigured),
        (410...410, [], .deviceGone),
        (412...412, [], .unavailable()),
        (429...429, [], .overloadedIfTimed()),
        (503...503, [], .overloadedIfTimed()),
        (500...599, [], .unavailable()),
        // A redirect is the channel's, which a device has named: it says nothing about the others.
        (300...499, [], .rejected),
    ])

    static func verdict(_ response: OutboundResponse, now: Date) -> Verdict {
        // The overview of raw pushes calls the header by the longer name.
        let status = (response.header("x-wns-status") ?? response.header("x-wns-notificationstatus"))?.lowercased()
        let description = response.header("x-wns-error-description")
        let isBlocked = response.status == 410 && self.isBlocked(description)
        let word = response.status == 200 ? ProviderWords.code(status) : nil
        return Verdict(
            self.table.reaction(to: response.status, isBlocked ? self.blocked : word),
            to: response,
            reason: word ?? ProviderWords.anonymousSentence(description),
            providerID: ProviderWords.code(response.header("x-wns-msg-id")),
            now: now
        )
    }

    /// WNS also answers 410 when it has blocked the sender, and then every device would seem gone. Only the sentence
    /// tells, and its wording is not documented.
    private static func isBlocked(_ description: String?) -> Bool {
        let text = (description ?? "").lowercased()
        return ["block", "domain", "suspend", "ban"].contains { text.contains($0) }
    }
}
