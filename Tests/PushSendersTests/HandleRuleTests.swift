import PushCore
import PushSenders
import Testing

/// The rules for handles at registration; the tests of each sender check to which address it sends
/// for a handle.
@Suite(.timeLimit(.minutes(5))) struct HandleRuleTests {
    @Test(arguments: try Self.refusals())
    func aRefusalSaysWhy(rule: any HandleRule, handle: String, flaw: HandleFlaw) {
        #expect(throws: flaw) { try rule.address(handle) }
    }

    @Test(arguments: try Self.parts())
    func onlyWebPushHasALaneForEachService(rule: any HandleRule, handle: String, part: String?) throws {
        let handle = try #require(DeviceHandle(handle))
        #expect(try rule.part(of: handle) == part)
    }

    /// If others can guess a handle, its user must prove that pushes to the handle arrive. Only
    /// the handles of webhooks can be guessed.
    @Test func onlyWebhookHandlesAreGuessable() throws {
        let rules: [any HandleRule] = [
            APNsHandleRule(), FCMHandleRule(), StreamHandleRule(), WebhookHandleRule(), try Self.wns(),
            try Self.webPush(),
        ]
        #expect(rules.map(\.isGuessable) == [false, false, false, true, false, false])
    }

    @Test func aSubscriptionHasOneCanonicalForm() throws {
        guard case .object(let canonical) = try Self.webPush().form else {
            Issue.record("clients write subscriptions as objects")
            return
        }
        let text = Self.subscription(at: "https://a.b/x")
        #expect(try canonical("\n" + text.replacing(":{", with: " : {")).value == text)
        #expect(throws: HandleFlaw.malformed(WebPushSubscription.Flaw.badEndpoint.description)) {
            try canonical(Self.subscription(at: "https://a.b/ x"))
        }
    }

    // MARK: - Private

    private static func refusals() throws -> [(any HandleRule, String, HandleFlaw)] {
        let (wns, webPush) = (try self.wns(), try self.webPush())
        let flaws = (WebPushSubscription.Flaw.notJSON.description, WebPushSubscription.Flaw.badEndpoint.description)
        return [
            (APNsHandleRule(), "xy", .malformed("it must be a device token in hexadecimal")),
            (FCMHandleRule(), "ä", .malformed("it must be a registration token, or fid: and an installation id")),
            (StreamHandleRule(), "a b", .malformed("it must be a registration id")),
            (wns, "https://evil.example/", .notAllowed("it must be a channel, https at *.notify.windows.com, b.c")),
            (webPush, "https://a.b/", .malformed(flaws.0)),
            (webPush, self.subscription(at: "http://a.b/"), .malformed(flaws.1)),
            (webPush, self.subscription(at: "https://c.d/"), .notAllowed("endpoint must be at *.push.apple.com, a.b")),
            (
                try self.anyHost(), self.subscription(at: "https://10.0.0.1/"),
                .notAllowed("endpoint must be at a public host name, port 443")
            ),
        ]
    }

    private static func parts() throws -> [(any HandleRule, String, String?)] {
        let (wns, webPush) = (try self.wns(), try self.webPush())
        return [
            (APNsHandleRule(), "abcd", nil), (FCMHandleRule(), "t:1", nil), (StreamHandleRule(), "id", nil),
            (WebhookHandleRule(), "anything", nil), (wns, "https://a.notify.windows.com/x", nil),
            (webPush, self.subscription(at: "https://web.push.apple.com/x"), "push.apple.com"),
            (webPush, self.subscription(at: "https://a.b/x"), "a.b"),
            (try self.anyHost(), self.subscription(at: "https://web.push.apple.com/x"), "push.apple.com"),
            (try self.anyHost(), self.subscription(at: "https://ntfy.example.com/x"), "*"),
        ]
    }

    private static func wns() throws -> WNSHandleRule {
        try WNSHandleRule(allowedHosts: ["*.notify.windows.com", "b.c"])
    }

    private static func webPush() throws -> WebPushHandleRule {
        try WebPushHandleRule(allowedHosts: ["*.push.apple.com", "a.b"])
    }

    private static func anyHost() throws -> WebPushHandleRule {
        try WebPushHandleRule(allowedHosts: ["*", "*.push.apple.com"])
    }

    private static func subscription(at endpoint: String) -> String {
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        return #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#
    }
}
