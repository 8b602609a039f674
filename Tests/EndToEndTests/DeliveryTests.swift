import Foundation
import Logging
import PushAPI
import PushClient
import PushCore
import PushSenders
import PushServer
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost_demo

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Pushes to providers that fail.
@Suite(.timeLimit(.minutes(5))) struct DeliveryTests {
    private let handle = String(repeating: "ab", count: 32)

    private func client(_ stack: Stack, as user: String = "alice") -> PushClient {
        PushClient(
            server: stack.server,
            credentials: .basic(username: user, password: Stack.password),
            options: .init(testing: [])
        )
    }

    @Test func aPushThatTheProviderDefersIsRetriedUnderTheSameID() async throws {
        try await Stack.run { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle)
            for _ in 0..<2 {
                stack.providers.apns.pushes.answerNext(status: 503, body: #"{"reason":"Shutdown"}"#)
            }
            let item = try await client.send("x")
            let accepted = try await stack.providers.apns.pushes.acceptedPush(1)
            #expect(accepted.text.contains(String(item.id)))
            let tries = stack.providers.apns.pushes.received
            #expect(tries.map(\.verdict.status) == [503, 503, 200])
            #expect(Set(tries.map { $0.request.header("apns-id") }).count == 1)
        }
    }

    /// An app registers a token for alerts and one for calls. Only a notification for the platform
    /// `voip` goes to the token for calls.
    @Test func aCallAndAnAlertGoToTheirOwnTokens() async throws {
        try await Stack.run {
            guard case .apns(var apns) = $0.senders[Platform("apns")] else { return }
            apns.envelope = .voip
            $0.senders[Platform("voip")] = .apns(apns)
        } _: { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle)
            try await self.client(stack).register(platform: "voip", handle: String(repeating: "cd", count: 32))
            let bodies = [#"{"Payload":1}"#, #"{"Payload":2,"Platforms":["voip"]}"#]
            var received: [String?] = []
            for (number, body) in bodies.enumerated() {
                #expect(try await stack.send(stack.request("POST", "/api/notifications", body: body)).status == 201)
                let push = try await stack.providers.apns.pushes.acceptedPush(number + 1)
                received += [push.request.path.suffix(2).description, push.request.header("apns-push-type")]
            }
            #expect(received[0] == "ab" && received[1] != "voip")
            #expect(Array(received[2...]) == ["cd", "voip"])
            #expect(stack.providers.apns.pushes.received.count == 2)
        }
    }

    @Test func aProviderOutageDelaysNoOtherProvider() async throws {
        try await Stack.run { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle)
            try await self.client(stack).register(platform: "fcm", handle: "fcm-token")
            for _ in 0..<20 {
                stack.providers.apns.pushes.answerNext(
                    status: 503,
                    headers: [HeaderField("retry-after", "600")],
                    body: #"{"reason":"ServiceUnavailable"}"#
                )
            }
            for number in 0..<20 { _ = try await client.send("\(number)") }
            _ = try await stack.providers.fcm.pushes.acceptedPush(20)
            #expect(stack.providers.apns.pushes.acceptedCount == 0)
        }
    }

    @Test func wrongCredentialsPauseTheirSenderAndAreReported() async throws {
        let log = LogRecorder(logLevel: .info)
        try await Stack.run(log: log) { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle)
            try await self.client(stack).register(platform: "fcm", handle: "fcm-token")
            stack.providers.apns.pushes.answerNext(status: 403, body: #"{"reason":"Forbidden"}"#)
            _ = try await client.send("x")
            _ = try await stack.providers.fcm.pushes.acceptedPush(1)
            try await eventually { stack.pause(of: "apns") != nil }
            #expect(stack.providers.apns.pushes.received.count == 1)
            let metrics = try await self.metrics(stack)
            #expect(metrics.contains(#"sealpost_lane_paused{lane="apns"} 1"#))
            #expect(metrics.contains(#"sealpost_lane_paused{lane="fcm"} 0"#))
            #expect(metrics.contains(#"sealpost_lane_pauses_total{lane="apns",cause="misconfigured"} 1"#))
            #expect(metrics.contains(#"sealpost_lane_pauses_total{lane="fcm",cause="misconfigured"} 0"#))
            try await self.expectReady(stack)
        }
        let pauses = log.lines.filter { $0.contains("lane paused") }
        #expect(pauses.count == 1)
        let line = "warning lane paused cause=misconfigured lane=apns reason=Forbidden until="
        #expect(pauses.first?.hasPrefix(line) == true)
    }

    /// Refusals of a user's invented devices affect neither the pushes of other users nor
    /// `/readyz`, which load balancers check.
    @Test func aUserWithInventedDevicesAffectsNoOtherUser() async throws {
        let log = LogRecorder(logLevel: .info)
        try await Stack.run(log: log) { stack in
            let pushes = stack.providers.apns.pushes
            let refusal = Fault.answer(status: 400, body: #"{"reason":"BadDeviceToken"}"#)
            pushes.setFaults([FaultRule(refusal, when: [.device("dead")])])
            for number in 0..<25 {
                let handle = String(format: "dead%08x", number)
                try await self.client(stack, as: "mallory").register(platform: "apns", handle: handle)
            }
            for round in 1...2 {
                _ = try await self.client(stack, as: "mallory").send("for nobody")
                try await eventually { pushes.received.count >= 25 * round }
            }
            #expect(pushes.acceptedCount == 0)
            try await self.client(stack).register(platform: "apns", handle: self.handle)
            let item = try await self.client(stack).send("for alice")
            #expect(try await pushes.acceptedPush(1).text.contains(String(item.id)))
            #expect(stack.pause(of: "apns") == nil)
            #expect(!(try await self.metrics(stack)).contains(/sealpost_lane_pauses_total.* [1-9]/))
            try await self.expectReady(stack)
        }
        #expect(!log.lines.contains { $0.contains("lane paused") })
    }

    /// If the provider refuses all devices, the sender probably has a wrong topic, environment or
    /// project.
    @Test func aMisconfiguredSenderIsPausedWhenAllItsDevicesAreRefused() async throws {
        let log = LogRecorder(logLevel: .info)
        try await Stack.run(log: log) { stack in
            let pushes = stack.providers.apns.pushes
            let refusal = Fault.answer(status: 400, body: #"{"reason":"DeviceTokenNotForTopic"}"#)
            pushes.setFaults([FaultRule(refusal)])
            for number in 0..<SenderHealth.refusedUsersInARow {
                let name = "user-\(number)"
                try await stack.addUser(name, role: .device)
                let handle = String(format: "%08x", number)
                try await self.client(stack, as: name).register(platform: "apns", handle: handle)
                _ = try await self.client(stack, as: name).send("x")
            }
            try await eventually { stack.pause(of: "apns") != nil }
            #expect(stack.pause(of: "apns")?.cause == .devicesRefused)
            let metrics = try await self.metrics(stack)
            #expect(metrics.contains(#"sealpost_lane_paused{lane="apns"} 1"#))
            #expect(metrics.contains(#"sealpost_lane_pauses_total{lane="apns",cause="devices_refused"} 1"#))
            try await self.expectReady(stack)
        }
        let pauses = log.lines.filter { $0.contains("lane paused") }
        #expect(pauses.count == 1)
        #expect(pauses.first?.contains("none accepted: DeviceTokenNotForTopic until=") == true)
    }

    private func metrics(_ stack: Stack) async throws -> String {
        try await stack.addUser("ada", role: .admin)
        return try await stack.send(stack.request("GET", "/metrics", as: "ada")).text
    }

    /// Checks `/readyz` without credentials. Strangers learn that the server can be used, and
    /// nothing about its providers.
    private func expectReady(_ stack: Stack) async throws {
        var request = try stack.request("GET", "/readyz")
        request.setValue(nil, forHTTPHeaderField: "Authorization")
        let answer = try await stack.send(request)
        #expect(answer.status == 200)
        #expect(answer.text == #"{"Status":"ready"}"#)
    }

    @Test func noProviderSeesAnythingButTheID() async throws {
        let canaries = ["canary-payload", "canary-tag", "alice", "canary-key", "canary-collapse"]
        let log = LogRecorder(logLevel: .trace)
        try await Stack.run(log: log) { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle, tags: ["canary-tag"])
            try await self.client(stack).register(platform: "fcm", handle: "fcm-token", tags: ["canary-tag"])
            try await self.client(stack).register(
                platform: "wns",
                handle: stack.providers.wns.makeChannel(),
                tags: ["canary-tag"]
            )
            // The provider's first answer delays the push, so that the log also has the line about
            // the delay.
            stack.providers.apns.pushes.answerNext(status: 503, body: #"{"reason":"Shutdown"}"#)
            let body =
                #"{"Payload":{"canary-key":"canary-payload"},"To":["canary-tag"],"CollapseKey":"canary-collapse"}"#
            let posted = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
            let id = try #require(try posted.member("Id"))
            for pushes in [stack.providers.apns.pushes, stack.providers.fcm.pushes, stack.providers.wns.pushes] {
                let push = try await pushes.acceptedPush(1)
                let seen = push.text + push.request.path + push.request.headers.map(\.value).joined(separator: " ")
                #expect(push.text.contains("\(id)"))
                for canary in canaries { #expect(!seen.contains(canary)) }
            }
            let onDisk = try stack.folder.contents()
            #expect(onDisk.range(of: Data("publisher".utf8)) != nil, "the search finds what is there")
            for canary in ["canary-payload", "canary-tag", self.handle, "fcm-token"] {
                #expect(onDisk.range(of: Data(canary.utf8)) == nil)
            }
        }
        #expect(!log.lines.isEmpty)
        for canary in ["canary", self.handle, "fcm-token"] { #expect(!log.lines.contains { $0.contains(canary) }) }
    }

    /// Follows an alert template from the configuration to the bytes that the provider receives.
    @Test func aPushShowsTheAlertThatItsSenderHasChosen() async throws {
        try await Stack.run {
            var template = PushAlert()
            template[.bodyKey] = "APPOINTMENT_BODY"
            $0.server.alerts.templates = ["appointment": template]
            $0.server.alerts.largestBadge = 99
            guard case .apns(var apns) = $0.senders[Platform("apns")] else { return }
            apns.envelope = .alert(AlertPlaceholder())
            $0.senders[Platform("apns")] = .apns(apns)
        } _: { stack in
            try await self.client(stack).register(platform: "apns", handle: self.handle)
            let pushes = stack.providers.apns.pushes
            for (number, alert, aps) in [
                (
                    1, #""appointment""#,
                    #"{"alert":{"loc-key":"APPOINTMENT_BODY"},"sound":"default","mutable-content":1}"#
                ),
                (2, #"{"Badge":7}"#, #"{"badge":7}"#),
                (3, "null", #"{"alert":{"loc-key":"New notification"},"sound":"default","mutable-content":1}"#),
            ] {
                let body = #"{"Payload":"canary-payload","To":["username:alice"],"Alert":\#(alert)}"#
                let posted = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
                let id = try #require(try posted.member("Id"), "\(posted.text)")
                #expect(try await pushes.acceptedPush(number).text == #"{"aps":\#(aps),"secureId":"\#(id)"}"#)
            }
            let onDisk = try stack.folder.contents()
            #expect(onDisk.range(of: Data("APPOINTMENT_BODY".utf8)) == nil)
            let body = #"{"Payload":1,"To":["username:alice"],"Alert":{"BodyKey":"canary-payload"}}"#
            let refused = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
            #expect(refused.status == 400)
            #expect(try refused.member("type") as? String == ProblemCode.alertNotAllowed.type)
        }
    }

    @Test func theClientDistinguishesARefusalFromAWrongPassword() async throws {
        try await Stack.run { stack in
            let wrong = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: "wrong horse battery"),
                options: .init(testing: [])
            )
            await expectUnauthorized { try await wrong.notification(1) }
            let item = try await self.client(stack).send("mine")
            let error = await #expect(throws: PushClientError.self) {
                try await self.client(stack, as: "mallory").notification(item.id)
            }
            guard case .problem(let problem) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(problem.code == .notFound)
        }
    }
}
