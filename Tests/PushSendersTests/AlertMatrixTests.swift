import CurlHTTP
import Foundation
import PushCore
import PushSenders
import PushSimulators
import PushTesting
import Testing

/// The table "Visible pushes" in `docs/providers.md` must list what each sender really sends. The
/// test takes this from the pushes that the providers' simulators have accepted.
@Suite(.timeLimit(.minutes(5))) struct AlertMatrixTests {
    /// The first columns of a row: the sender, the alert, the kind of push that the provider
    /// gets, and the body.
    private typealias Row = (sender: String, alert: String, kind: String, body: String)

    private static let alerts: [(name: String, alert: PushAlert?)] = [
        ("none", nil), (#"{"Template":"appointment","Badge":3}"#, AlertSamples.appointment),
        (#"{"Badge":3}"#, AlertSamples.badge),
    ]

    @Test func theTableIsWhatProvidersReceive() async throws {
        var rows: [Row] = []
        rows += try await Self.apns(.alert(AlertPlaceholder()), "`apns`, `envelope: alert`")
        rows += try await Self.apns(.background, "`apns`, `envelope: background`")
        rows += try await Self.fcm("`fcm`, `android: data`")
        rows += try await Self.fcm(android: .notification(AndroidPlaceholder()), "`fcm`, `android: notification`")
        rows += try await Self.fcm(apple: .alert(AlertPlaceholder()), "`fcm`, `apple: alert`")
        rows += try await Self.wns(.toast(text: "New notification"), "`wns`, `envelope: toast`")
        rows += try await Self.wns(.raw, "`wns`, `envelope: raw`")
        rows += try await Self.webPush("`webpush`")
        rows += try await Self.webhook("`webhook`")
        let expected = rows.map { "| \($0.sender) | `\($0.alert)` | \($0.kind) | `\($0.body)` |" }
        let documented = try Self.documented()
        #expect(documented.count == expected.count)
        for (row, line) in zip(expected, documented) {
            #expect(
                line.hasPrefix(row),
                "docs/providers.md should begin a row with\n\(row)\nand begins it with\n\(line)"
            )
        }
    }

    /// Returns the rows of the table, without its heading.
    private static func documented() throws -> [Substring] {
        let page = try Repository.text(of: "docs/providers.md")
        let section = try #require(page.components(separatedBy: "\n### Visible pushes\n").dropFirst().first)
        let table = try #require(section.components(separatedBy: "\n| sender |").dropFirst().first)
        return table.components(separatedBy: "\n#")[0].split(separator: "\n").filter { $0.hasPrefix("| `") }
    }

    /// Makes one row for all alerts if the sender sends the same for each of them.
    private static func rows(_ sender: String, _ sent: [(kind: String, body: String)]) -> [Row] {
        let isOne = sent.allSatisfy { $0 == sent[0] }
        return zip(self.alerts, sent).map { (sender, $0.name, $1.kind, $1.body) }.prefix(isOne ? 1 : sent.count).map {
            isOne ? ($0.0, "any", $0.2, $0.3) : $0
        }
    }

    /// Returns the pushes that the simulator has accepted, with the device's handle removed from
    /// the bodies.
    private static func accepted(_ received: [ReceivedPush], handle: String) throws -> [(SimulatedRequest, String)] {
        try #require(received.count == self.alerts.count)
        return received.map { push in
            #expect(push.verdict == .accepted)
            let body = String(decoding: push.request.body, as: UTF8.self)
            return (push.request, body.replacing(handle, with: "…"))
        }
    }

    private static func send(_ sender: some PushSender, handle: String) async throws {
        for (_, alert) in self.alerts {
            let push = try Samples.push(id: 4711, handle: handle, priority: .high, alert: alert)
            guard case .success = await sender.outcome(of: push) else {
                Issue.record("not accepted: \(String(describing: alert))")
                return
            }
        }
    }

    // MARK: - Providers

    private static func apns(_ envelope: AppleEnvelope, _ name: String) async throws -> [Row] {
        let handle = "0a1b"
        let received = try await withProvider { authority, connection, loop in
            var options = SimulatorOptions()
            options.now = { Samples.now }
            let apns = try APNsSimulator(authority: authority, options: options)
            let settings = APNsSettings(
                key: Secret(apns.credentials.privateKey),
                keyID: apns.credentials.keyID,
                teamID: apns.credentials.teamID,
                topic: apns.credentials.topic,
                envelope: envelope,
                endpoint: apns.endpoint,
                connection: connection
            )
            let sender = try APNsSender(settings, on: loop, now: { Samples.now })
            return try await apns.whileRunning { apns in
                try await Self.send(sender, handle: handle)
                await sender.close()
                return apns.pushes.received
            }
        }
        return self.rows(
            name,
            try self.accepted(received, handle: handle).map { request, body in
                let (type, priority) = (request.header("apns-push-type"), request.header("apns-priority"))
                return ("\(type ?? "-"), priority \(priority ?? "-")", body)
            }
        )
    }

    private static func fcm(
        apple: AppleEnvelope? = nil,
        android: AndroidContent = .data,
        _ name: String
    ) async throws -> [Row] {
        let handle = "a-registration-token"
        let received = try await withProvider { authority, connection, loop in
            var options = SimulatorOptions()
            options.now = { Samples.now }
            let fcm = try FCMSimulator(authority: authority, options: options)
            let settings = FCMSettings(
                credentials: .file(Secret(fcm.serviceAccount)),
                endpoint: fcm.endpoint,
                tokenEndpoint: fcm.tokenEndpoint,
                apple: apple,
                android: android,
                connection: connection
            )
            let sender = try FCMSender(settings, on: loop, now: { Samples.now })
            return try await fcm.whileRunning { fcm in
                try await Self.send(sender, handle: handle)
                await sender.close()
                return fcm.pushes.received
            }
        }
        let part = apple == nil ? "android" : "apns"
        return self.rows(
            name,
            try self.accepted(received, handle: handle).map { (try Self.priority(part, in: $0), $1) }
        )
    }

    /// Returns the priority in the part `part` of a message to FCM.
    private static func priority(_ part: String, in request: SimulatedRequest) throws -> String {
        let body = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        let part = (body?["message"] as? [String: Any])?[part] as? [String: Any]
        let apple = (part?["headers"] as? [String: String]).map {
            "\($0["apns-push-type"] ?? "-"), priority \($0["apns-priority"] ?? "-")"
        }
        return try #require(apple ?? part?["priority"] as? String)
    }

    private static func wns(_ content: WNSContent, _ name: String) async throws -> [Row] {
        let received = try await withProvider { authority, connection, loop in
            let wns = try WNSSimulator(authority: authority, options: .named)
            let settings = WNSSettings(
                clientID: wns.credentials.clientID,
                clientSecret: Secret(wns.credentials.clientSecret),
                tokenEndpoint: wns.tokenEndpoint,
                content: content,
                allowedHosts: ["localhost:\(wns.port)"],
                addresses: .any,
                connection: connection
            )
            let sender = try WNSSender(settings, on: loop)
            return try await wns.whileRunning { wns in
                try await Self.send(sender, handle: wns.makeChannel())
                await sender.close()
                return wns.pushes.received
            }
        }
        return self.rows(
            name,
            try self.accepted(received, handle: "…").map { ($0.header("x-wns-type") ?? "-", $1) }
        )
    }

    private static func webPush(_ name: String) async throws -> [Row] {
        let sent = try await withWebPush {
            $0.alerts = AlertSamples.policy
        } _: { sender, service, _ in
            let subscription = try service.makeSubscription()
            try await Self.send(sender, handle: subscription.json)
            return try service.pushes.received.map { push in
                #expect(push.verdict == .accepted)
                return (
                    "\(push.request.body.count) bytes, encrypted", try #require(service.plaintext(of: push.request))
                )
            }
        }
        try #require(sent.count == self.alerts.count)
        return self.rows(name, sent)
    }

    private static func webhook(_ name: String) async throws -> [Row] {
        let handle = "your-handle"
        let received = try await withProvider { authority, connection, loop in
            let hook = try WebhookSimulator(authority: authority)
            let settings = WebhookSettings(url: hook.url, secret: Secret(hook.secret), connection: connection)
            let sender = try WebhookSender(settings, on: loop)
            return try await hook.whileRunning { hook in
                try await Self.send(sender, handle: handle)
                await sender.close()
                return hook.pushes.received
            }
        }
        return self.rows(name, try self.accepted(received, handle: handle).map { ("signed", $1) })
    }
}
