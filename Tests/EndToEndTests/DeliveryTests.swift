import Foundation
import PushAPI
import PushClient
import PushSimulators
import PushTesting
import Testing

@testable import sealpost

/// What becomes of pushes when providers are not well.
@Suite(.timeLimit(.minutes(5))) struct DeliveryTests {
    private let handle = String(repeating: "ab", count: 32)

    private func client(_ stack: Stack, as user: String = "alice") -> PushClient {
        PushClient(server: stack.server, credentials: .basic(username: user, password: Stack.password))
    }

    @Test func aPushThatTheProviderPutsOffIsSentAgainUnderTheSameID() async throws {
        try await Stack.run { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle)
            for _ in 0..<2 {
                stack.providers.apns.pushes.answerNext(status: 503, body: #"{"reason":"Shutdown"}"#)
            }
            let item = try await client.send("x")
            let accepted = try await stack.providers.apns.pushes.acceptedPush(1, within: .seconds(30))
            #expect(accepted.text.contains(String(item.id)))
            let tries = stack.providers.apns.pushes.received
            #expect(tries.map(\.verdict.status) == [503, 503, 200])
            #expect(Set(tries.map { $0.request.header("apns-id") }).count == 1)
        }
    }

    @Test func aProviderThatIsDownDelaysNobodyElse() async throws {
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
        try await Stack.run { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle)
            try await self.client(stack).register(platform: "fcm", handle: "fcm-token")
            #expect(try await stack.send(stack.request("GET", "/readyz")).status == 200)
            stack.providers.apns.pushes.answerNext(status: 403, body: #"{"reason":"InvalidProviderToken"}"#)
            _ = try await client.send("x")
            _ = try await stack.providers.fcm.pushes.acceptedPush(1)
            try await eventually("the pause is reported") {
                try await stack.send(stack.request("GET", "/readyz")).status == 503
            }
            #expect(stack.providers.apns.pushes.received.count == 1)
        }
    }

    @Test func noProviderSeesAnythingButTheID() async throws {
        let canaries = ["canary-payload", "canary-tag", "alice", "canary-key"]
        try await Stack.run { stack in
            let client = self.client(stack)
            try await client.register(platform: "apns", handle: self.handle, tags: ["canary-tag"])
            try await self.client(stack).register(platform: "fcm", handle: "fcm-token", tags: ["canary-tag"])
            try await self.client(stack).register(
                platform: "wns",
                handle: stack.providers.wns.makeChannel(),
                tags: ["canary-tag"]
            )
            let body = #"{"Payload":{"canary-key":"canary-payload"},"To":["canary-tag"]}"#
            let posted = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
            let id = try #require(try posted.member("Id"))
            for log in [stack.providers.apns.pushes, stack.providers.fcm.pushes, stack.providers.wns.pushes] {
                let push = try await log.acceptedPush(1)
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
    }

    @Test func theClientTellsARefusalFromAWrongPassword() async throws {
        try await Stack.run { stack in
            let wrong = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: "wrong horse battery")
            )
            await #expect(throws: PushClientError.unauthorized) { try await wrong.notification(1) }
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
