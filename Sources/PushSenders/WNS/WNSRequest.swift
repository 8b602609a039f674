internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push in the form of WNS:
/// https://learn.microsoft.com/windows/apps/develop/notifications/push-notifications/push-request-response-headers
struct WNSRequest: Sendable {
    /// The longest life of a channel.
    private static let longestTimeToLive = 30 * 86_400

    let handles: WNSHandleRule
    let content: WNSContent
    let timeout: Duration

    /// Makes the request for a push. Throws `rejected` if the channel's host is not allowed.
    func make(_ push: Push, token: Secret<String>, now: Date) throws(SendFailure) -> OutboundRequest {
        let channel: OutboundURL
        do throws(HandleFlaw) {
            channel = try self.handles.address(push.handle)
        } catch {
            throw .rejected(reason: "the channel's host is not in allowedHosts")
        }
        let seconds = Int(min(max(1, push.expiresAt.timeIntervalSince(now)), TimeInterval(Self.longestTimeToLive)))
        let form = self.content.form(of: push)
        let headers = [
            OutboundRequest.Header("Authorization", "Bearer " + token.exposed),
            .init("Content-Type", form.mediaType),
            .init("X-WNS-Type", form.type),
            // Without this field, a device that is offline never gets the push.
            .init("X-WNS-Cache-Policy", "cache"),
            .init("X-WNS-TTL", String(seconds)),
            .init("X-WNS-PRIORITY", push.priority == .high ? "1" : "3"),
            .init("X-WNS-RequestForStatus", "true"),
        ]
        return OutboundRequest(.post, channel, headers: headers, body: Array(form.body.utf8), timeout: self.timeout)
    }

    /// The request for an access token, with client credentials (RFC 6749 section 4.4).
    static func tokenRequest(
        at url: OutboundURL,
        clientID: String,
        clientSecret: Secret<String>,
        scope: String,
        timeout: Duration
    ) -> OutboundRequest {
        let form = FormText.encoded([
            ("grant_type", "client_credentials"),
            ("client_id", clientID),
            ("client_secret", clientSecret.exposed),
            ("scope", scope),
        ])
        let headers = [OutboundRequest.Header("content-type", "application/x-www-form-urlencoded")]
        return OutboundRequest(.post, url, headers: headers, body: Array(form.utf8), timeout: timeout)
    }
}
