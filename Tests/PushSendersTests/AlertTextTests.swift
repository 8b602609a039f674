import CurlHTTP
import Foundation
import PushCore
import Testing

@testable import PushSenders

/// How each sender writes an alert for its provider. `AlertMatrixTests` checks the whole bodies.
@Suite(.timeLimit(.minutes(5))) struct AlertTextTests {
    // MARK: Apple

    /// The sender's configuration gives the default values, and an alert's own values replace
    /// them.
    @Test(arguments: [
        (AlertMember.titleKey, #"{"alert":{"title-loc-key":"a \"b\"","loc-key":"BODY"},"sound":"s","category":"c","#),
        (.bodyKey, #"{"alert":{"title-loc-key":"TITLE","loc-key":"a \"b\""},"sound":"s","category":"c","#),
        (.sound, #"{"alert":{"title-loc-key":"TITLE","loc-key":"BODY"},"sound":"a \"b\"","category":"c","#),
        (.category, #"{"alert":{"title-loc-key":"TITLE","loc-key":"BODY"},"sound":"s","category":"a \"b\"","#),
        (.thread, #""category":"c","thread-id":"a \"b\"","interruption-level":"active","mutable-content":1}"#),
        (.interruptionLevel, #""thread-id":"t","interruption-level":"a \"b\"","mutable-content":1}"#),
        // Only Android has channels, so the message to Apple contains none.
        (.channel, #"{"alert":{"title-loc-key":"TITLE","loc-key":"BODY"},"sound":"s","category":"c","thread-id":"t","#),
    ])
    func anAlertOverridesSingleDefaults(member: AlertMember, part: String) {
        var placeholder = AlertPlaceholder()
        placeholder.titleKey = "TITLE"
        placeholder.bodyKey = "BODY"
        placeholder.sound = "s"
        placeholder.category = "c"
        placeholder.thread = "t"
        placeholder.interruptionLevel = .active
        let text = placeholder.aps(AlertSamples.text(#"a "b""#, as: member))
        #expect(text.contains(part), "\(text)")
    }

    @Test func aBadgeComesWithTheAlertOrAlone() {
        var alert = AlertSamples.text("KEY", as: .bodyKey)
        alert.badge = 0
        #expect(
            AlertPlaceholder().aps(alert)
                == #"{"alert":{"loc-key":"KEY"},"badge":0,"sound":"default","mutable-content":1}"#
        )
        #expect(AlertPlaceholder().aps(AlertSamples.badge) == #"{"badge":3}"#)
        let counted = #"{"alert":{"loc-key":"New notification"},"badge":7,"sound":"default","mutable-content":1}"#
        #expect(AlertPlaceholder().aps(nil, unread: 7) == counted)
        // The badge that the publisher chose takes precedence over the number of unread
        // notifications.
        #expect(AlertPlaceholder().aps(AlertSamples.badge, unread: 7) == #"{"badge":3}"#)
    }

    /// A critical alert has a sound even if the sender's configuration has no sound.
    @Test(arguments: [
        ("ping.caf", 100, #"{"critical":1,"name":"ping.caf","volume":1}"#),
        (nil, 50, #"{"critical":1,"name":"default","volume":0.50}"#),
        ("a \"b\"", 5, #"{"critical":1,"name":"a \"b\"","volume":0.05}"#),
        ("ping.caf", 0, #"{"critical":1,"name":"ping.caf","volume":0.00}"#),
    ])
    func aCriticalAlertHasApplesSound(sound: String?, volume: Int, expected: String) {
        var placeholder = AlertPlaceholder()
        placeholder.sound = sound
        placeholder.criticalVolume = volume
        let text = placeholder.aps(AlertSamples.text("critical", as: .interruptionLevel))
        #expect(text.contains(",\"sound\":\(expected),\"interruption-level\":\"critical\","), "\(text)")
    }

    @Test func aBackgroundPushShowsNothing() throws {
        for alert in [AlertSamples.appointment, AlertSamples.badge] {
            #expect(AppleEnvelope.background.aps(of: try Samples.push(alert: alert)) == #"{"content-available":1}"#)
        }
    }

    // MARK: Android

    @Test func aNotificationHasTheConfiguredTextsOrTheAlerts() throws {
        var placeholder = AndroidPlaceholder()
        let push = try Samples.push()
        #expect(
            AndroidContent.notification(placeholder).members(of: push) == [
                #""notification":{"body":"New notification","sound":"default","tag":"8c2f9f437d2d4d8b9a550c1e8e6c2a11"}"#
            ]
        )
        placeholder.titleKey = "TITLE"
        placeholder.bodyKey = "BODY"
        placeholder.channel = "c"
        placeholder.sound = nil
        #expect(
            AndroidContent.notification(placeholder).members(of: push) == [
                #""notification":{"title_loc_key":"TITLE","body_loc_key":"BODY","channel_id":"c","#
                    + #""tag":"8c2f9f437d2d4d8b9a550c1e8e6c2a11"}"#
            ]
        )
        // If the message also contained a text, Android would show the text and not the resource
        // with this key.
        let chosen = AndroidPlaceholder().notification(AlertSamples.text("KEY", as: .bodyKey), tag: "t")
        #expect(chosen == #"{"body_loc_key":"KEY","sound":"default","tag":"t"}"#)
    }

    @Test(arguments: [Push.Priority.high, .normal])
    func aBadgeAloneIsNeverUrgentOnAndroid(priority: Push.Priority) throws {
        let url = try #require(OutboundURL("https://fcm.googleapis.com/v1/projects/p/messages:send"))
        for content in [AndroidContent.data, .notification(AndroidPlaceholder())] {
            let body = try FCMRequest(url: url, apple: nil, android: content, timeout: .seconds(9))
                .make(
                    try Samples.push(priority: priority, alert: AlertSamples.badge),
                    token: Secret("T"),
                    now: Samples.now
                ).bodyText
            #expect(body.hasSuffix(#""priority":"NORMAL","ttl":"86400s","data":{"secureId":"7","badge":"3"}}}}"#))
        }
    }

    // MARK: Web Push

    @Test func everyMessageIsPaddedToTheLongestAlert() throws {
        let content = WebPushContent(AlertSamples.policy)
        let longest = try Samples.push(id: .max, alert: AlertSamples.appointment, sharedBy: .random())
        let text = content.text(of: longest)
        #expect(String(decoding: text, as: UTF8.self).contains("APPOINTMENT_BODY"))
        #expect(content.paddedSize - text.count == 3, "a badge may have four digits")
        #expect(WebPushContent(AlertPolicy()).paddedSize == 127)
    }

    /// The longest value of a member may come from a template or from a list of allowed values.
    @Test func paddingCountsTheLongestValueOfEachMember() {
        var policy = AlertSamples.policy
        let before = WebPushContent(policy).paddedSize
        policy.allowed[.bodyKey] = [String(repeating: "\"", count: 100)]
        #expect(WebPushContent(policy).paddedSize == before + 200 - "APPOINTMENT_BODY".utf8.count)
    }

    /// An earlier configuration may have allowed the alert when the notification was sent.
    @Test func anAlertTooLongForThePaddingIsLeftOut() throws {
        let text = WebPushContent(AlertPolicy()).text(of: try Samples.push(alert: AlertSamples.appointment))
        #expect(String(decoding: text, as: UTF8.self) == #"{"secureId":"7"}"#)
    }

    @Test func theLongestConfigurableAlertFitsIntoOneRecord() throws {
        var policy = AlertPolicy()
        for member in AlertMember.allCases { policy.allowed[member] = [String(repeating: "\\", count: 100)] }
        policy.largestBadge = 9999
        // RFC 8291 section 4: a push service accepts 4096 bytes. Of these, the header takes 86,
        // and the delimiter and the authentication tag take 17.
        #expect(WebPushContent(policy).paddedSize <= 4096 - 86 - 17)
    }

    // MARK: Others

    @Test func anAlertWithOnlyAToastHasNoJSON() {
        var alert = PushAlert()
        alert.toastText = "A toast"
        #expect(alert.json == nil)
    }

    @Test func aToastShowsTheTextOfItsTemplate() throws {
        let push = try Samples.push(alert: AlertSamples.appointment)
        #expect(WNSContent.toast(text: "New").form(of: push).body.contains("<text>An appointment</text>"))
        #expect(WNSContent.toast(text: "New").form(of: push).type == "wns/toast")
    }
}
