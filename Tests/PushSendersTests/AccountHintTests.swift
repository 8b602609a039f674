import CurlHTTP
import Foundation
import PushCore
import Testing

@testable import PushSenders

/// How a push tells a device with several accounts to which account it belongs, for each
/// provider.
@Suite(.timeLimit(.minutes(5))) struct AccountHintTests {
    private static let registration = RegistrationID.random()

    private func shared(alert: PushAlert? = nil) throws -> (push: Push, hint: String) {
        let push = try Samples.push(alert: alert, sharedBy: Self.registration)
        return (push, try #require(push.accountHint).description)
    }

    private func apns(_ push: Push) throws -> String {
        let request = APNsRequest(
            endpoint: try #require(OutboundURL("https://api.push.apple.com")),
            topic: "com.example.app",
            envelope: .background,
            timeout: .seconds(5)
        )
        return String(decoding: try request.make(push, token: Secret("t")).body, as: UTF8.self)
    }

    private func fcm(_ push: Push) throws -> String {
        let request = FCMRequest(
            url: try #require(OutboundURL("https://fcm.googleapis.com/v1/projects/sample-1/messages:send")),
            apple: .background,
            android: .data,
            timeout: .seconds(5)
        )
        return String(decoding: try request.make(push, token: Secret("t"), now: Samples.now).body, as: UTF8.self)
    }

    @Test func theHintFollowsTheIDForApple() throws {
        let (push, hint) = try self.shared()
        let body = try self.apns(push)
        #expect(body == #"{"aps":{"content-available":1},"secureId":"7","accountHint":"\#(hint)"}"#)
        #expect(try self.apns(Samples.push()) == #"{"aps":{"content-available":1},"secureId":"7"}"#)
    }

    @Test func theHintIsInTheDataForFirebaseAlsoWithAnAlert() throws {
        let (push, hint) = try self.shared()
        #expect(try self.fcm(push).contains(#""data":{"secureId":"7","accountHint":"\#(hint)"}"#))
        let (shown, same) = try self.shared(alert: AlertSamples.appointment)
        let android = AndroidContent.data.members(of: shown).joined()
        #expect(android.hasPrefix(#""data":{"secureId":"7","accountHint":"\#(same)","titleKey":"#))
    }

    @Test func theHintIsInTheArgumentsForWindows() throws {
        let (push, hint) = try self.shared()
        #expect(WNSContent.raw.form(of: push).body == "secureId=7&accountHint=\(hint)")
        let toast = WNSContent.toast(text: "New").form(of: push).body
        #expect(toast.hasPrefix(#"<toast launch="secureId=7&amp;accountHint=\#(hint)">"#))
        #expect(try WNSContent.raw.form(of: Samples.push()).body == "7")
    }

    @Test func theHintFitsIntoThePaddedContentForBrowsers() throws {
        let (push, hint) = try self.shared(alert: AlertSamples.appointment)
        for policy in [AlertPolicy(), AlertSamples.policy] {
            let content = WebPushContent(policy)
            #expect(content.text(of: push).count <= content.paddedSize)
        }
        let text = String(decoding: WebPushContent(AlertSamples.policy).text(of: push), as: UTF8.self)
        #expect(text.hasPrefix(#"{"secureId":"7","accountHint":"\#(hint)","alert":{"#))
    }

    @Test func theHintIsInTheBodyForWebhooks() throws {
        let (push, hint) = try self.shared()
        let request = WebhookRequest(
            url: try #require(OutboundURL("https://hooks.example/")),
            secret: try WebhookSecret(Secret("whsec_" + Data(repeating: 7, count: 32).base64EncodedString())),
            timeout: .seconds(5)
        )
        let body = String(decoding: request.make(push, now: Samples.now).body, as: UTF8.self)
        #expect(body.hasPrefix(#"{"secureId":"7","accountHint":"\#(hint)","handle":"#))
    }

    /// Providers may log the hints. A provider must not be able to link the hints of one account:
    /// all hints must look random.
    @Test func hintsOfOneAccountAreUnlinkable() throws {
        let registrations = [Self.registration, .random()]
        let hints = try (1...200).flatMap { number in
            let id = try #require(NotificationID(rawValue: Int64(number)))
            return registrations.map { AccountHint(id, of: $0).description }
        }
        #expect(Set(hints).count == 400)
        #expect(hints.allSatisfy { $0.utf8.count == AccountHint.length })
        // Each of the first ten positions has more than 40 different letters, so no letter at
        // these positions identifies an account.
        for place in 0..<10 { #expect(Set(hints.map { Array($0)[place] }).count > 40) }
    }
}
