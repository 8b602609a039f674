internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Reads FCM's answers: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
enum FCMResponse {
    private static let restAfterQuota = Duration.seconds(60)
    private static let restAfterServerError = Duration.seconds(10)

    static func verdict(_ response: OutboundResponse, now: Date) -> Verdict {
        let body = Data(response.body)
        // Front ends answer in HTML; then the status is all there is.
        if response.status == 200 {
            let name = try? JSONDecoder().decode(Success.self, from: body).name
            return .accepted(Acceptance(providerID: ProviderWords.sentence(name)))
        }
        let error = try? JSONDecoder().decode(Failure.self, from: body).error
        let reason = ProviderWords.code(error?.code ?? error?.status) ?? "HTTP \(response.status)"
        let retryAfter = RetryAfter.duration(response.header("retry-after"), now: now)
        switch (response.status, error?.code) {
        case (404, "UNREGISTERED"), (403, "SENDER_ID_MISMATCH"):
            return .failed(.deviceGone(reason: reason))
        case (400, _):
            let isAboutToken = error?.isAboutToken ?? false
            return .failed(isAboutToken ? .deviceGone(reason: reason) : .rejected(reason: reason))
        // About the keys of one app's iOS or web part, which a device of that kind can bring up; Android goes on.
        case (401, "THIRD_PARTY_AUTH_ERROR"), (401, "APNS_AUTH_ERROR"):
            return .failed(.rejected(reason: reason))
        case (401, _):
            return .tokenExpired(reason: reason)
        case (403, _), (404, _), (405, _), (300..<400, _):
            return .failed(.misconfigured(reason: reason))
        case (429, _):
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter ?? Self.restAfterQuota))
        case (500..., _):
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter ?? Self.restAfterServerError))
        case (400..<500, _):
            return .failed(.rejected(reason: reason))
        default:
            return .failed(.unavailable(reason: reason, retryAfter: retryAfter))
        }
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

        /// FCM's own word, which says more than the canonical status.
        var code: String? {
            self.details?.first { $0.type == "type.googleapis.com/google.firebase.fcm.v1.FcmError" }?.errorCode
        }

        /// Whether it is the device's token that is invalid; all else of a 400 says nothing about the device.
        var isAboutToken: Bool {
            let fields = (self.details ?? []).flatMap { $0.fieldViolations ?? [] }.map(\.field)
            if fields.contains("message.token") { return true }
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
