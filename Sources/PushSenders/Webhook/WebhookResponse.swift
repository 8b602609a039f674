internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads the answers of the operator's receiver: only the status counts.
enum WebhookResponse {
    private static let deviceDelay = Duration.seconds(60)

    static let table = OutcomeTable(
        accepted: 200...299,
        [
            .init(410...410) { .deviceGone(reason: $0.reason) },
            // Either the device is unknown, or the URL's path is wrong for all devices. The
            // results of pushes to other devices show which.
            .init(404...404) { .deviceUnknown(reason: $0.reason) },
            // The URL is wrong: redirects are not followed.
            .init(300...399) { .misconfigured(reason: $0.reason) },
            // The signature or the URL is wrong.
            .init(401...401) { .misconfigured(reason: $0.reason) },
            .init(403...405) { .misconfigured(reason: $0.reason) },
            .init(429...429) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? deviceDelay) },
            .init(408...408) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(400...499) { .rejected(reason: $0.reason) },
            .init(503...503) { $0.overloadedIfTimed() },
        ]
    )

    static func outcome(_ response: OutboundResponse, now: Date) -> SendOutcome {
        self.table.outcome(of: ProviderAnswer(response, now: now))
    }
}
