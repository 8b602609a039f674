internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads the answers of a receiver, which are its operator's: only the status counts.
enum WebhookResponse {
    private static let restOfDevice = Duration.seconds(60)

    static let table = OutcomeTable(
        accepted: 200...299,
        [
            .init(410...410) { .deviceGone(reason: $0.reason) },
            // The device, or a path that is wrong for all: others tell.
            .init(404...404) { .deviceUnknown(reason: $0.reason) },
            // The address is wrong: no redirect is followed.
            .init(300...399) { .misconfigured(reason: $0.reason) },
            // The signature or the address is wrong.
            .init(401...401) { .misconfigured(reason: $0.reason) },
            .init(403...405) { .misconfigured(reason: $0.reason) },
            .init(429...429) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? restOfDevice) },
            .init(408...408) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter) },
            .init(400...499) { .rejected(reason: $0.reason) },
            .init(503...503) { $0.overloadedIfTimed() },
        ]
    )

    static func outcome(_ response: OutboundResponse, now: Date) -> SendOutcome {
        self.table.outcome(of: ProviderAnswer(response, now: now))
    }
}
