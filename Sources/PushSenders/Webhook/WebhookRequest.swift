internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push for the operator's receiver: it contains the device, the id of the notification
/// or the confirmation code, and the alert.
struct WebhookRequest: Sendable {
    let url: OutboundURL
    let secret: WebhookSecret
    let timeout: Duration

    func make(_ push: Push, now: Date) -> OutboundRequest {
        let handle = JSONText.quoted(push.handle)
        let content =
            if let code = push.confirmation {
                "\"confirmation\":\"\(code.exposed)\""
            } else {
                push.idMembers + (push.alert?.json.map { ",\"alert\":\($0)" } ?? "")
            }
        let body = Array("{\(content),\"handle\":\(handle)}".utf8)
        return OutboundRequest.signed(
            by: self.secret,
            // The id is the same in every attempt, so that a receiver recognises a push that is
            // sent again.
            id: push.attemptID.text,
            body: body,
            to: self.url,
            timeout: self.timeout,
            now: now
        )
    }
}
