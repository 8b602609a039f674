internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads FCM's answers: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
enum FCMResponse {
    private static let delayAfterQuota = Duration.seconds(60)
    private static let delayAfterServerError = Duration.seconds(10)
    /// This module's code for an `INVALID_ARGUMENT` about the device's token. Any other answer
    /// with 400 says nothing about the device.
    private static let invalidToken = "INVALID_TOKEN"

    static let table = OutcomeTable(
        accepted: 200...200,
        [
            .init(400...400, [invalidToken]) { .deviceUnknown(reason: $0.reason) },
            // The project's key for Apple devices or for browsers is wrong. Pushes to devices of
            // that kind fail; pushes to Android devices are not affected.
            .init(401...401, ["THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR"]) { .kindRefused(reason: $0.reason) },
            .init(401...401) { .credentialExpired(reason: $0.reasonOfToken) },
            .init(403...403, ["SENDER_ID_MISMATCH"]) { .deviceUnknown(reason: $0.reason) },
            .init(404...404, ["UNREGISTERED"]) { .deviceGone(reason: $0.reason) },
            // The project, the path or one device was not found: FCM sometimes leaves out the code
            // that says which of the three.
            .init(404...404) { .deviceNotFound(reason: $0.reason) },
            .init(403...405) { .misconfigured(reason: $0.reason) },
            // A quota of the project, of a device or of a topic is used up: FCM does not say which
            // of the three.
            .init(429...429) { .deviceBusy(reason: $0.reason, retryAfter: $0.retryAfter ?? delayAfterQuota) },
            .init(400...499) { .rejected(reason: $0.reason) },
            .init(503...503) { $0.overloadedIfTimed(orElse: delayAfterServerError) },
            .init(500...599) { .unavailable(reason: $0.reason, retryAfter: $0.retryAfter ?? delayAfterServerError) },
            .init(300...399) { .misconfigured(reason: $0.reason) },
        ]
    )

    static func outcome(_ response: OutboundResponse, now: Date) -> SendOutcome {
        let body = Data(response.body)
        // FCM's front ends answer in HTML, not in JSON; then only the status is known.
        let name = response.status == 200 ? try? JSONDecoder().decode(Success.self, from: body).name : nil
        let error = try? JSONDecoder().decode(Failure.self, from: body).error
        let reason = ProviderWords.code(error?.code ?? error?.status)
        let isAboutToken = response.status == 400 && error?.isAboutToken ?? false
        let word = isAboutToken ? self.invalidToken : reason
        return self.table.outcome(
            of: ProviderAnswer(
                response,
                words: word.map { [$0] } ?? [],
                reason: reason,
                providerID: ProviderWords.sentence(name),
                now: now
            )
        )
    }

    private struct Success: Decodable {
        let name: String
    }

    private struct Failure: Decodable {
        let error: Problem
    }

    private struct Problem: Decodable {
        let status: String?
        let message: String?
        let details: [Detail]?

        /// FCM's own error code, which is more specific than the canonical status.
        var code: String? {
            self.details?.first { $0.type == "type.googleapis.com/google.firebase.fcm.v1.FcmError" }?.errorCode
        }

        /// Whether the device's token is invalid; any other answer with 400 says nothing about the
        /// device.
        var isAboutToken: Bool {
            let fields = (self.details ?? []).flatMap { $0.fieldViolations ?? [] }.map(\.field)
            if fields.contains("message.token") || fields.contains("message.fid") { return true }
            return self.code != nil && (self.message ?? "").contains("not a valid FCM registration token")
        }
    }

    private struct Detail: Decodable {
        struct Violation: Decodable {
            let field: String?
        }

        let type: String?
        let errorCode: String?
        let fieldViolations: [Violation]?

        private enum CodingKeys: String, CodingKey {
            case type = "@type"
            case errorCode, fieldViolations
        }
    }
}
