internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push as RFC 8030 specifies, encrypted as RFC 8291 specifies.
struct WebPushRequest: Sendable {
    /// The longest time that a request names, in seconds. Push services keep no message longer,
    /// and Mozilla's documentation does not say how it treats a longer time.
    private static let longestTimeToLive = 30 * 86_400

    let tokens: VAPIDTokens
    let content: WebPushContent
    /// The content of pushes to Safari, which may be a declarative message. Other browsers get
    /// `content`: they might show a declarative message without calling the page's service worker.
    let appleContent: WebPushContent
    let timeout: Duration

    func make(
        _ push: Push,
        to subscription: WebPushSubscription,
        now: Date
    ) throws(SendFailure) -> OutboundRequest {
        let left = min(max(0, push.expiresAt.timeIntervalSince(now)), TimeInterval(Self.longestTimeToLive))
        // The time is rounded down. 0 means that the push service delivers the message now or
        // never (RFC 8030 section 5.2).
        let seconds = Int(left)
        var headers = [
            OutboundRequest.Header(
                "Authorization",
                try self.tokens.authorization(for: subscription.origin, now: now).exposed
            ),
            .init("Content-Type", "application/octet-stream"),
            .init("Content-Encoding", "aes128gcm"),
            .init("TTL", String(seconds)),
            .init("Urgency", push.priority == .high ? "high" : "normal"),
            .init("Topic", push.collapseID),
        ]
        if subscription.endpoint.host.hasSuffix(".notify.windows.com") {
            // Microsoft's service refuses a TTL of 0 unless this field agrees with it.
            headers.append(.init("X-WNS-Cache-Policy", seconds == 0 ? "no-cache" : "cache"))
        }
        let content = subscription.endpoint.host.hasSuffix(".push.apple.com") ? self.appleContent : self.content
        let body: [UInt8]
        do {
            body = try WebPushEncryption(for: subscription).seal(content.text(of: push), paddedSize: content.paddedSize)
        } catch {
            throw .rejected(reason: "encryption for this subscription failed")
        }
        return OutboundRequest(.post, subscription.endpoint, headers: headers, body: body, timeout: self.timeout)
    }
}
