internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push as FCM wants it: https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
struct FCMRequest: Sendable {
    /// Four weeks, the longest that FCM keeps a message.
    private static let longestTimeToLive = 2_419_200

    let url: OutboundURL
    let timeout: Duration

    /// Throws `deviceGone` if the handle is not a registration token.
    func make(_ push: Push, token: Secret<String>, now: Date) throws(SendFailure) -> OutboundRequest {
        let device: String
        do throws(HandleFlaw) {
            device = try FCMHandleRule().address(push.handle)
        } catch {
            throw .deviceGone(reason: "not a registration token")
        }
        let headers = [
            OutboundRequest.Header("authorization", "Bearer " + token.exposed),
            .init("content-type", "application/json"),
        ]
        let body = Array(Self.body(of: push, to: device, now: now).utf8)
        return OutboundRequest(.post, self.url, headers: headers, body: body, timeout: self.timeout)
    }

    private static func body(of push: Push, to device: String, now: Date) -> String {
        let seconds = Int(min(max(0, push.expiresAt.timeIntervalSince(now)), TimeInterval(self.longestTimeToLive)))
        var android = "\"priority\":\"\(push.priority == .high ? "HIGH" : "NORMAL")\",\"ttl\":\"\(seconds)s\""
        // Only if several pushes share the key: FCM keeps four collapse keys per device.
        if push.replacesOlder { android += ",\"collapse_key\":" + JSONText.quoted(push.collapseID) }
        let token = JSONText.quoted(device)
        let id = push.notification.rawValue
        return "{\"message\":{\"token\":\(token),\"data\":{\"secureId\":\"\(id)\"},\"android\":{\(android)}}}"
    }
}
