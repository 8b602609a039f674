internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import PushCore

/// Writes a push in the form of FCM:
/// https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages
struct FCMRequest: Sendable {
    /// Four weeks, the longest that FCM keeps a message.
    private static let longestTimeToLive = 2_419_200

    let url: OutboundURL
    /// The form of pushes on Apple devices; `nil` if messages have no part for these devices.
    let apple: AppleEnvelope?
    let android: AndroidContent
    let timeout: Duration

    /// Makes the request for a push. Throws `deviceGone` if the push's handle is neither a
    /// registration token nor an installation id.
    func make(_ push: Push, token: Secret<String>, now: Date) throws(SendFailure) -> OutboundRequest {
        let target: FCMHandleRule.Target
        do throws(HandleFlaw) {
            target = try FCMHandleRule().target(push.handle)
        } catch {
            throw .deviceGone(reason: "not a registration token")
        }
        let headers = [
            OutboundRequest.Header("authorization", "Bearer " + token.exposed),
            .init("content-type", "application/json"),
        ]
        let body = Array(self.body(of: push, to: target, now: now).utf8)
        return OutboundRequest(.post, self.url, headers: headers, body: body, timeout: self.timeout)
    }

    /// The body of a message. It has parts for Android and for Apple devices; FCM uses only the
    /// part for the target's kind of device.
    private func body(of push: Push, to target: FCMHandleRule.Target, now: Date) -> String {
        let (field, value) = target.field
        let parts = [
            "\"\(field)\":\(JSONText.quoted(value))", "\"data\":{\(push.idMembers)}",
            "\"android\":{\(self.android(push, now: now))}",
            self.apple.map { "\"apns\":{\(Self.apple(push, in: $0))}" },
        ]
        return "{\"message\":{\(parts.compactMap(\.self).joined(separator: ","))}}"
    }

    private func android(_ push: Push, now: Date) -> String {
        let seconds = Int(min(max(0, push.expiresAt.timeIntervalSince(now)), TimeInterval(Self.longestTimeToLive)))
        // A push that only sets a badge has normal priority: Google lowers the priority of
        // messages to an app if the app shows nothing for urgent messages.
        let isUrgent = push.priority == .high && push.alert?.isBadgeAlone != true
        var members = ["\"priority\":\"\(isUrgent ? "HIGH" : "NORMAL")\"", "\"ttl\":\"\(seconds)s\""]
        // A push has a collapse key only if several pushes share it, because FCM stores only four
        // collapse keys for each device.
        if push.replacesOlder { members.append("\"collapse_key\":\(JSONText.quoted(push.collapseID))") }
        return (members + self.android.members(of: push)).joined(separator: ",")
    }

    /// The part for Apple devices: the same headers and payload as in a request to APNs; FCM adds
    /// the message's `data` to the payload.
    private static func apple(_ push: Push, in envelope: AppleEnvelope) -> String {
        let headers = [
            ("apns-push-type", envelope.pushType), ("apns-priority", envelope.priority(of: push)),
            ("apns-expiration", envelope.expiration(of: push)),
            ("apns-collapse-id", push.collapseID),
        ].map { "\"\($0)\":\(JSONText.quoted($1))" }.joined(separator: ",")
        return "\"headers\":{\(headers)},\"payload\":{\"aps\":\(envelope.aps(of: push))}"
    }
}
