internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads a push service's answers: RFC 8030 section 5, and what Mozilla, Google, Apple and Microsoft make of them.
///
/// A device chooses the path at its push service, and so may bring about nearly any answer. Only what Mozilla's says
/// under a number of its own is taken for a word about our key; with everything else, other devices must tell.
enum WebPushResponse {
    /// Mozilla's number for a fault of VAPID, which concerns all devices.
    private static let badVAPID = "errno 109"
    /// Ours, for the same number where only this browser's subscription has another key.
    private static let keyMismatch = "errno 109 mismatch"
    /// What Google and Apple say, somewhere in their text, of another key's subscription.
    private static let aboutKey = ["unauthorizedregistration", "vapid", "jwt"]
    private static let restOfDevice = Duration.seconds(60)

    static let table = OutcomeTable(
        accepted: 200...299,
        [
            // The endpoint has moved or is no more; no redirect is followed, and the browser subscribes again.
            .init(300...399) { .deviceGone(reason: $0.reason) },
            .init(401...401, [keyMismatch]) { .deviceUnknown(reason: $0.reason) },
            .init(401...401, [badVAPID]) { .misconfigured(reason: $0.reason) },
            .init(400...400, aboutKey) { .deviceUnknown(reason: $0.reason) },
            // Apple's BadJwtToken and VapidPkHashMismatch among them.
            .init(401...403) { .deviceUnknown(reason: $0.reason) },
            // Not found is RFC 8030's answer to a subscription that has ended; gone is what most services say.
            .init(404...404) { .deviceGone(reason: $0.reason) },
            .init(410...410) { .deviceGone(reason: $0.reason) },
            // Something is there that takes no pushes.
            .init(405...405) { .deviceUnknown(reason: $0.reason) },
            // Microsoft throttles with 406.
            .init(406...406) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? restOfDevice) },
            .init(408...408) { $0.overloadedIfTimed() },
            .init(429...429) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? restOfDevice) },
            .init(400...499) { .rejected(reason: $0.reason) },
            .init(500...999) { $0.overloadedIfTimed() },
        ]
    )

    static func outcome(_ response: OutboundResponse, now: Date) -> SendOutcome {
        // Apple and Mozilla speak JSON, the others text.
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

    /// Those words of the table that the service says.
    private static func words(_ answer: Answer?, _ response: OutboundResponse) -> [String] {
        let texts = [
            answer?.reason, answer?.message, response.header("x-wns-error-description"),
            String(decoding: response.body.prefix(2000), as: UTF8.self),
        ]
        let said = texts.compactMap(\.self).joined(separator: " ").lowercased()
        var words = self.aboutKey.filter(said.contains)
        if answer?.errno == 109 {
            words.append(said.contains("mismatch") ? self.keyMismatch : self.badVAPID)
        }
        return words
    }

    /// Never the body as such: some services repeat the endpoint in it, which is a secret.
    private static func reason(_ answer: Answer?, _ response: OutboundResponse) -> String {
        let status = "HTTP \(response.status)"
        if let word = ProviderWords.code(answer?.reason) { return "\(status) \(word)" }
        return answer?.errno.map { "\(status) errno \($0)" } ?? status
    }

    private struct Answer: Decodable {
        /// Apple's.
        let reason: String?
        /// Mozilla's.
        let errno: Int?
        let message: String?
    }
}
