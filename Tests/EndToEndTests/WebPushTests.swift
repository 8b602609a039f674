import Foundation
import Logging
import PushClient
import PushCore
import PushDelivery
import PushSenders
import PushServer
import PushSimulators
import PushTesting
import Reactor
import Testing

@testable import PushApplication

/// Pushes of the whole server to browsers and webhooks.
@Suite(.timeLimit(.minutes(5))) struct WebPushTests {
    private struct Places: Sendable {
        let browsers: WebPushSimulator
        let hook: WebhookSimulator
    }

    /// Runs the server with a sender for browsers and one for a webhook. The server itself makes
    /// the file with the Web Push key.
    private func run(_ body: @escaping @Sendable (Stack, Places, _ key: String) async throws -> Void) async throws {
        let (folder, authority) = (try TemporaryFolder(), try TestAuthority())
        try authority.write(to: folder.file("ca.pem"))
        let places = Places(
            browsers: try WebPushSimulator(authority: authority),
            hook: try WebhookSimulator(authority: authority)
        )
        try folder.writeSecret(places.hook.secret, to: "hook.secret")
        var webPush = SenderConfiguration.WebPush(subject: "mailto:ops@example.com")
        webPush.keyFile = folder.file("keys/vapid.pem")
        webPush.allowedHosts = ["localhost:\(places.browsers.port)"]
        webPush.allowsPrivateAddresses = true
        webPush.caFile = folder.file("ca.pem")
        var hook = SenderConfiguration.Webhook(url: places.hook.url, secretFile: folder.file("hook.secret"))
        hook.caFile = folder.file("ca.pem")
        let senders = [Platform("webpush"): SenderConfiguration.webPush(webPush), Platform("hook"): .webhook(hook)]
        let log = LogRecorder(logLevel: .trace)
        try await places.browsers.whileRunning { _ in
            try await places.hook.whileRunning { _ in
                try await Stack.run(log: log) {
                    $0.senders = senders
                } _: { stack in
                    let mode = try FileManager.default.attributesOfItem(atPath: folder.file("keys/vapid.pem"))
                    #expect(mode[.posixPermissions] as? Int == 0o600)
                    let answer = try await stack.send(stack.request("GET", "/api/webpush/key"))
                    try await body(stack, places, try #require(try answer.member("Key") as? String))
                }
            }
        }
        #expect(!log.lines.contains { $0.contains("canary") })
    }

    private func issue(_ stack: Stack) async throws -> String {
        String(try await stack.send(stack.request("POST", "/api/register")).text.dropFirst().dropLast())
    }

    private func register(_ platform: String, _ handle: String, id: String, in stack: Stack) async throws -> Int {
        let body = #"{"Platform":"\#(platform)","Handle":\#(handle),"Tags":["canary-tag"]}"#
        return try await stack.send(stack.request("PUT", "/api/register/\(id)", body: body)).status
    }

    /// Each host in `allowedHosts` has its own lane (queue of pushes), and the host's failures
    /// pause only that lane. All other hosts share one lane.
    @Test func unlistedHostsShareALaneOfUnrelatedHosts() async throws {
        let folder = try TemporaryFolder()
        var webPush = SenderConfiguration.WebPush(subject: "mailto:ops@example.com")
        webPush.keyFile = folder.file("vapid.pem")
        webPush.allowedHosts = ["*", "a.example.com", "*.b.example.com"]
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let setup = try SenderSetup(
            .webPush(webPush),
            name: Platform("webpush"),
            on: loop,
            streams: StreamHub(),
            egress: Egress(),
            tokens: APNsProviderTokens()
        )
        let lanes = setup.lanes.map(\.lane.description)
        #expect(lanes == ["webpush/a.example.com", "webpush/b.example.com", "webpush/*"])
        #expect(setup.lanes.map(\.hasUnrelatedHosts) == [false, false, true])
        await setup.close()
    }

    @Test func aBrowserAndAHookGetTheIDAndNothingElse() async throws {
        try await self.run { stack, places, key in
            let subscription = try places.browsers.makeSubscription(applicationServerKey: key)
            let (browser, hook) = (try await self.issue(stack), try await self.issue(stack))
            #expect(try await self.register("webpush", subscription.json, id: browser, in: stack) == 200)
            #expect(try await self.register("hook", #""device-1""#, id: hook, in: stack) == 200)
            let claim = try await places.hook.pushes.acceptedPush(1)
            let code = try claim.member("confirmation")
            #expect(claim.text == #"{"confirmation":"\#(code)","handle":"device-1"}"#)
            let confirmation = try stack.request("POST", "/api/register/\(hook)/confirmation", body: "\"\(code)\"")
            #expect(try await stack.send(confirmation).status == 200)
            let body =
                #"{"Payload":{"canary-key":"canary-payload"},"To":["canary-tag"],"CollapseKey":"canary-collapse"}"#
            let posted = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
            let id = try #require(try posted.member("Id"))
            let pushed = try await places.browsers.pushes.acceptedPush(1)
            let posting = try await places.hook.pushes.acceptedPush(2)
            #expect(places.browsers.plaintext(of: pushed.request) == #"{"secureId":"\#(id)"}"#)
            #expect(pushed.request.body.count == 230)
            #expect(posting.text == #"{"secureId":"\#(id)","handle":"device-1"}"#)
            for push in [pushed, claim, posting] {
                let seen = push.text + push.request.path + push.request.headers.map(\.value).joined(separator: " ")
                for canary in ["canary", "alice", "boss"] { #expect(!seen.contains(canary)) }
            }
        }
    }

    @Test func aBrowserThatHasUnsubscribedIsRetired() async throws {
        try await self.run { stack, places, key in
            let subscription = try places.browsers.makeSubscription(applicationServerKey: key)
            let browser = try await self.issue(stack)
            #expect(try await self.register("webpush", subscription.json, id: browser, in: stack) == 200)
            places.browsers.retire(subscription)
            _ = try await stack.send(stack.request("POST", "/api/notifications"))
            // The test does not check by registering again, because that would repair the
            // registration.
            try await eventually {
                try await stack.send(stack.request("GET", "/api/register")).text == "[]"
            }
            #expect(try await self.register("webpush", subscription.json, id: browser, in: stack) == 410)
        }
    }

    @Test(arguments: ["https://localhost/x", "https://127.0.0.1/x", "https://push.example/x"])
    func anUnlistedEndpointIsRefusedAtRegistration(endpoint: String) async throws {
        try await self.run { stack, places, _ in
            let subscription = try places.browsers.makeSubscription()
            let json = subscription.json.replacing(subscription.endpoint, with: endpoint)
            #expect(try await self.register("webpush", json, id: "browser", in: stack) == 400)
        }
    }
}
