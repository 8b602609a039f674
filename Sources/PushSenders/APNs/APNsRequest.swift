internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push as APNs wants it: https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns
struct APNsRequest: Sendable {
    /// The key of the text that the app shows if its extension cannot replace the placeholder.
    static let placeholderKey = "SEALPOST_NOTIFICATION"

    let endpoint: OutboundURL
    let topic: String
    let envelope: APNsSettings.Envelope
    let timeout: Duration

    /// Throws `deviceGone` if the handle is not a device token.
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
            .init("apns-push-type", self.envelope.rawValue),
            .init("apns-priority", self.priority(of: push)),
            .init("apns-expiration", String(max(0, Int(push.expiresAt.timeIntervalSince1970)))),
            .init("apns-topic", self.topic),
            .init("apns-collapse-id", push.collapseID),
        ]
        let body = Array(self.body(of: push).utf8)
        return OutboundRequest(.post, url, headers: headers, body: body, timeout: self.timeout)
    }

    /// Apple rejects priority 10 for a background push, so the publisher's priority does not count there.
    private func priority(of push: Push) -> String {
        self.envelope == .alert && push.priority == .high ? "10" : "5"
    }

    private func body(of push: Push) -> String {
        let id = push.notification.rawValue
        return switch self.envelope {
        case .background: "{\"aps\":{\"content-available\":1},\"secureId\":\"\(id)\"}"
        case .alert:
            "{\"aps\":{\"alert\":{\"loc-key\":\"\(Self.placeholderKey)\"},\"mutable-content\":1},\"secureId\":\"\(id)\"}"
        }
    }
}
