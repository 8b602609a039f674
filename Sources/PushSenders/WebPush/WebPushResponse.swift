internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads a push service's answers: RFC 8030 section 5, and what Mozilla, Google, Apple and Microsoft make of them.
///
/// A device chooses the path at its push service, and so may bring about nearly any answer. Only what Mozilla's says
/// under a number of its own is taken for a word about our key; with everything else, other devices must tell.
enum WebPushResponse {
    enum Consequence: Sendable, Hashable {
        case accepted, gone, unknown, rejected, misconfigured, deviceBusy, unavailable
    }

    /// A line of the table. The first whose status and word fit counts.
    struct Line: Sendable {
        let statuses: ClosedRange<Int>
        /// Mozilla's `errno`; `nil` fits any answer.
        var errno: Int?
        /// A part of what the service says, in lower case; `nil` fits any answer.
        var word: String?
        let consequence: Consequence
    }

    static let table = [
        Line(statuses: 200...299, consequence: .accepted),
        // The endpoint has moved or is no more; nobody is followed, and the browser subscribes again.
        Line(statuses: 300...399, consequence: .gone),
        // Mozilla: a key other than the one that the browser subscribed with.
        Line(statuses: 401...401, errno: 109, word: "mismatch", consequence: .unknown),
        // Mozilla: no VAPID, or an invalid one, whoever the device is.
        Line(statuses: 401...401, errno: 109, consequence: .misconfigured),
        // Google answers this to another key's subscription.
        Line(statuses: 400...400, word: "unauthorizedregistration", consequence: .unknown),
        Line(statuses: 400...400, word: "vapid", consequence: .unknown),
        Line(statuses: 400...400, word: "jwt", consequence: .unknown),
        // Apple's BadJwtToken and VapidPkHashMismatch among them.
        Line(statuses: 401...403, consequence: .unknown),
        // Not found is RFC 8030's answer to a subscription that has ended; gone is what most services say.
        Line(statuses: 404...404, consequence: .gone),
        Line(statuses: 410...410, consequence: .gone),
        // Something is there that takes no pushes.
        Line(statuses: 405...405, consequence: .unknown),
        // Microsoft throttles with 406.
        Line(statuses: 406...406, consequence: .deviceBusy),
        Line(statuses: 408...408, consequence: .unavailable),
        Line(statuses: 429...429, consequence: .deviceBusy),
        Line(statuses: 400...499, consequence: .rejected),
        Line(statuses: 500...599, consequence: .unavailable),
    ]

    private static let restOfDevice = Duration.seconds(60)

    static func verdict(_ response: OutboundResponse, now: Date) -> Verdict {
        // Apple and Mozilla speak JSON, the others text.
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        let words = [
            answer?.reason, answer?.message, response.header("x-wns-error-description"),
            String(decoding: response.body.prefix(2000), as: UTF8.self),
        ]
        let said = words.compactMap(\.self).joined(separator: " ").lowercased()
        let line = self.table.first { line in
            line.statuses.contains(response.status)
                && (line.errno == nil || line.errno == answer?.errno)
                && line.word.map(said.contains) ?? true
        }
        let reason = self.reason(answer, response)
        let retryAfter = RetryAfter.duration(response.header("retry-after"), now: now)
        switch line?.consequence ?? .unavailable {
        case .accepted:
            let id = response.header("apns-id") ?? response.header("x-wns-msg-id")
            return .accepted(Acceptance(providerID: ProviderWords.code(id)))
        case .gone: return .failed(.deviceGone(reason: reason))
        case .unknown: return .failed(.deviceUnknown(reason: reason))
        case .rejected: return .failed(.rejected(reason: reason))
        case .misconfigured: return .failed(.misconfigured(reason: reason))
        case .deviceBusy: return .failed(.deviceBusy(reason: reason, retryAfter: retryAfter ?? Self.restOfDevice))
        case .unavailable:
            if let retryAfter { return .failed(.overloaded(reason: reason, retryAfter: retryAfter)) }
            return .failed(.unavailable(reason: reason))
        }
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
