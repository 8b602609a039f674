internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push for the operator's receiver: which device, which notification or code, and its alert.
struct WebhookRequest: Sendable {
    let url: OutboundURL
    let secret: WebhookSecret
    let timeout: Duration

    func make(_ push: Push, now: Date) -> OutboundRequest {
        // The same on every try, so that a receiver recognises a repeated push.
        let id = push.attemptID.text
        let timestamp = String(Int(now.timeIntervalSince1970))
        let handle = JSONText.quoted(push.handle)
        let content =
            if let code = push.confirmation {
                "\"confirmation\":\"\(code.exposed)\""
            } else {
                "\"secureId\":\"\(push.notification.rawValue)\"" + (push.alert?.json.map { ",\"alert\":\($0)" } ?? "")
            }
        let body = Array("{\(content),\"handle\":\(handle)}".utf8)
        let headers = [
            OutboundRequest.Header("content-type", "application/json"),
            .init("webhook-id", id),
            .init("webhook-timestamp", timestamp),
            .init("webhook-signature", self.secret.signature(id: id, timestamp: timestamp, body: body)),
        ]
        return OutboundRequest(.post, self.url, headers: headers, body: body, timeout: self.timeout)
    }
}
