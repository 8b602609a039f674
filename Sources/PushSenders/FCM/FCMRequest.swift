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
    /// The form of pushes on Apple devices; `nil`: the message has no part for them.
    let apple: AppleEnvelope?
    let android: AndroidContent
    let timeout: Duration

    /// Throws `deviceGone` if the handle is neither a registration token nor an installation id.
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

    /// The body of a message. FCM ignores the part for another kind of device than the token's.
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
        // Google demotes apps that show nothing for messages of high priority.
        let isUrgent = push.priority == .high && push.alert?.isBadgeAlone != true
        var members = ["\"priority\":\"\(isUrgent ? "HIGH" : "NORMAL")\"", "\"ttl\":\"\(seconds)s\""]
        // A push has this key only if several pushes share it, because FCM keeps four keys per
        // device.
        if push.replacesOlder { members.append("\"collapse_key\":\(JSONText.quoted(push.collapseID))") }
        return (members + self.android.members(of: push)).joined(separator: ",")
    }

    /// The same headers and payload as for APNs itself; FCM adds the message's `data` to the
    /// payload.
    private static func apple(_ push: Push, in envelope: AppleEnvelope) -> String {
        let headers = [
            ("apns-push-type", envelope.pushType), ("apns-priority", envelope.priority(of: push)),
            ("apns-expiration", envelope.expiration(of: push)),
            ("apns-collapse-id", push.collapseID),
        ].map { "\"\($0)\":\(JSONText.quoted($1))" }.joined(separator: ",")
        return "\"headers\":{\(headers)},\"payload\":{\"aps\":\(envelope.aps(of: push))}"
    }
}
