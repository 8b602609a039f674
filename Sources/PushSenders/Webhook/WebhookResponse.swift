internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads the answers of a receiver, which are its operator's: only the status counts.
enum WebhookResponse {
    private static let restOfDevice = Duration.seconds(60)

    static func verdict(_ response: OutboundResponse, now: Date) -> Verdict {
        let reason = "HTTP \(response.status)"
        let retryAfter = RetryAfter.duration(response.header("retry-after"), now: now)
        switch response.status {
        case 200..<300: return .accepted(Acceptance())
        case 410: return .failed(.deviceGone(reason: reason))
        // The device, or a path that is wrong for all: others tell.
        case 404: return .failed(.deviceUnknown(reason: reason))
        // The signature or the address is wrong; nobody is followed elsewhere.
        case 300..<400, 401, 403, 405: return .failed(.misconfigured(reason: reason))
        case 429: return .failed(.deviceBusy(reason: reason, retryAfter: retryAfter ?? Self.restOfDevice))
        case 408: return .failed(.unavailable(reason: reason, retryAfter: retryAfter))
        case 400..<500: return .failed(.rejected(reason: reason))
        case 503:
            if let retryAfter { return .failed(.overloaded(reason: reason, retryAfter: retryAfter)) }
            return .failed(.unavailable(reason: reason))
        default: return .failed(.unavailable(reason: reason, retryAfter: retryAfter))
        }
    }
}
