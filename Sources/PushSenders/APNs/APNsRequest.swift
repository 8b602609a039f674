internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push in the form of APNs:
/// https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
struct APNsRequest: Sendable {
    let endpoint: OutboundURL
    let topic: String
    let envelope: AppleEnvelope
    let timeout: Duration

    /// Makes the request for a push. Throws `deviceGone` if the push's handle is not a device
    /// token.
    func make(_ push: Push, token: Secret<String>) throws(SendFailure) -> OutboundRequest {
        let device: String
        do throws(HandleFlaw) {
            device = try APNsHandleRule().address(push.handle)
        } catch {
            throw .deviceGone(reason: "not a device token")
        }
        guard let url = self.endpoint.appending("/3/device/" + device) else {
            throw .rejected(reason: "the endpoint is too long")
        }
        let headers = [
            OutboundRequest.Header("authorization", "bearer " + token.exposed),
            .init("apns-id", push.attemptID.text),
            .init("apns-push-type", self.envelope.pushType),
            .init("apns-priority", self.envelope.priority(of: push)),
            .init("apns-expiration", self.envelope.expiration(of: push)),
            .init("apns-topic", self.topic + self.envelope.topicSuffix),
            .init("apns-collapse-id", push.collapseID),
        ]
        let body = "{\"aps\":\(self.envelope.aps(of: push)),\(push.idMembers)}"
        return OutboundRequest(.post, url, headers: headers, body: Array(body.utf8), timeout: self.timeout)
    }
}
