internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads a push service's answers: RFC 8030 section 5, as Mozilla, Google, Apple and Microsoft
/// apply it.
///
/// A device chooses the path at its push service, and so can cause nearly any answer. Only one
/// numbered error of Mozilla counts as a statement about this server's key. After other refusals,
/// the results of pushes to other devices show whether the device or the server is at fault.
enum WebPushResponse {
    /// Mozilla's number for an error in the server's VAPID token, which concerns all devices.
    private static let badVAPID = "errno 109"
    /// This module's code for Mozilla's error 109 if it concerns a single browser, whose
    /// subscription was made with another key.
    private static let keyMismatch = "errno 109 mismatch"
    /// The words by which Google and Apple report that a subscription was made with another key.
    /// Longer words such as `BadJwtToken` contain them.
    private static let aboutKey = ["unauthorizedregistration", "vapid", "jwt"]
    private static let deviceDelay = Duration.seconds(60)

    static let table = OutcomeTable(
        accepted: 200...299,
        [
            // The endpoint has moved or no longer exists; redirects are not followed, and the
            // browser subscribes again.
            .init(300...399) { .deviceGone(reason: $0.reason) },
            .init(401...401, [keyMismatch]) { .deviceUnknown(reason: $0.reason) },
            .init(401...401, [badVAPID]) { .misconfigured(reason: $0.reasonOfToken) },
            .init(400...400, aboutKey) { .deviceUnknown(reason: $0.reasonOfToken) },
            // Apple's BadJwtToken and VapidPkHashMismatch are among these answers.
            .init(401...403) { .deviceUnknown(reason: $0.reasonOfToken) },
            // For a subscription that has ended, RFC 8030 requires 404, but most services answer
            // 410.
            .init(404...404) { .deviceGone(reason: $0.reason) },
            .init(410...410) { .deviceGone(reason: $0.reason) },
            // The URL exists, but accepts no pushes.
            .init(405...405) { .deviceUnknown(reason: $0.reason) },
            // Microsoft throttles with 406.
            .init(406...406) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? deviceDelay) },
            .init(408...408) { $0.overloadedIfTimed() },
            .init(429...429) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? deviceDelay) },
            .init(400...499) { .rejected(reason: $0.reason) },
            // UnifiedPush servers answer 507 for a topic that nobody has subscribed to lately.
            .init(507...507) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? deviceDelay) },
            .init(500...999) { $0.overloadedIfTimed() },
        ]
    )

    static func outcome(_ response: OutboundResponse, now: Date) -> SendOutcome {
        // Apple and Mozilla answer in JSON, the other services in plain text.
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        let id = response.header("apns-id") ?? response.header("x-wns-msg-id")
        return self.table.outcome(
            of: ProviderAnswer(
                response,
                words: self.words(answer, response),
                reason: self.reason(answer, response),
                providerID: ProviderWords.code(id),
                now: now
            )
        )
    }

    /// The words of the outcome table that occur in the answer.
    private static func words(_ answer: Answer?, _ response: OutboundResponse) -> [String] {
        let texts = [
            answer?.reason, answer?.message, response.header("x-wns-error-description"),
            String(decoding: response.body.prefix(2000), as: UTF8.self),
        ]
        let said = ProviderWords.words(texts.compactMap(\.self).joined(separator: " ")).joined(separator: " ")
        var words = self.aboutKey.filter(said.contains)
        if answer?.errno == 109 {
            words.append(said.contains("mismatch") ? self.keyMismatch : self.badVAPID)
        }
        return words
    }

    /// The reason for logs. The reason never contains the body: some services repeat the endpoint
    /// there, which is secret.
    private static func reason(_ answer: Answer?, _ response: OutboundResponse) -> String {
        let status = "HTTP \(response.status)"
        if let word = ProviderWords.code(answer?.reason) { return "\(status) \(word)" }
        return answer?.errno.map { "\(status) errno \($0)" } ?? status
    }

    private struct Answer: Decodable {
        /// Only Apple sends this member.
        let reason: String?
        /// Only Mozilla sends this member.
        let errno: Int?
        let message: String?
    }
}
