import ClientPeers
import Foundation
import PushAPI
import PushClient
import Reactor
import Testing

/// Tests the outcome of calls on a bad network.
@Suite(.timeLimit(.minutes(5))) struct LostConnectionTests {
    /// A script that loses the first request, and answers the second.
    private static let lossy: ScriptedPeer.Script = { request, index in
        guard index > 0 else { return .hangUp }
        switch request.path {
        case "/api/register": return .answer(PeerAnswer(to: request, body: #""id-1""#))
        case "/api/notifications" where request.method == "GET":
            return .answer(PeerAnswer(to: request, body: Samples.list([], cursor: "c")))
        case "/api/notifications/read": return .answer(PeerAnswer(to: request, body: #"{"Read":[7]}"#))
        case "/api/sessions":
            return .answer(PeerAnswer(to: request, body: #"{"Token":"t","ExpiresAt":"2099-01-01T00:00:00Z"}"#))
        case "/api/sessions/current", "/api/notifications/7/taken": return .answer(PeerAnswer(to: request, status: 204))
        default:
            if request.method == "DELETE" { return .answer(PeerAnswer(to: request, status: 204)) }
            return .answer(PeerAnswer(to: request, body: Samples.item(7)))
        }
    }

    @Test func aLostRequestIsRetriedOnceWithAnotherToken() async throws {
        let calls: [@Sendable (PushClient) async throws -> Void] = [
            { _ = try await $0.notification(7) }, { _ = try await $0.sync() }, { try await $0.markRead(7) },
            { try await $0.markRead([7]) }, { try await $0.dismiss(7) }, { try await $0.confirmTaken(7) },
            { _ = try await $0.send("a") },
        ]
        for call in calls {
            try await ScriptedPeer.run(Self.lossy) { peer, client in
                try await call(client)
                let requests = peer.requests
                #expect(requests.count == 2)
                #expect(Set(requests.map(\.token)).count == 2)
                #expect(requests[0].target == requests[1].target)
                #expect(requests[0].body == requests[1].body)
                #expect(requests[0].fields["idempotency-key"] == requests[1].fields["idempotency-key"])
            }
        }
    }

    @Test func aSentNotificationHasAnIdempotencyKey() async throws {
        try await ScriptedPeer.run(Self.lossy) { peer, client in
            _ = try await client.send("a")
            _ = try await client.send("a")
            let keys = peer.requests.compactMap { $0.fields["idempotency-key"] }
            #expect(keys.count == 3)
            #expect(keys[0] == keys[1])
            #expect(keys[1] != keys[2])
            #expect(keys.allSatisfy { $0.wholeMatch(of: /"[0-9A-Fa-f-]{36}"/) != nil })
        }
    }

    @Test func aLostSignInIsNotRetried() async throws {
        let calls: [@Sendable (PushClient) async throws -> Void] = [
            { _ = try await $0.signIn() }
        ]
        for call in calls {
            try await ScriptedPeer.run(Self.lossy) { peer, client in
                await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await call(client) }
                #expect(peer.requests.count == 1)
            }
        }
    }

    @Test func aRequestIsSentAtMostTwice() async throws {
        try await ScriptedPeer.run({ _, _ in .hangUp }) { peer, client in
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.notification(7) }
            #expect(peer.requests.count == 2)
        }
    }

    @Test(arguments: ["H", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nMyToken: 20\r\nContent-Le"])
    func aConnectionThatEndsInsideTheHeadCountsAsOffline(head: String) async throws {
        try await ScriptedPeer.run({ _, _ in .bytes(head) }) { _, client in
            let error = await #expect(throws: PushClientError.self) { try await client.notification(7) }
            #expect(error.flatMap { PushClient.Advice(for: $0) } == .offline)
        }
    }

    @Test func interimAnswersAreSkipped() async throws {
        try await ScriptedPeer.run({ request, _ in
            let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
            let answer = PeerAnswer(to: request, body: Samples.item(7))
            return .bytes(interim + interim + String(decoding: answer.encoded, as: UTF8.self))
        }) { _, client async throws in
            #expect(try await client.notification(7).date == nil)
        }
    }

    @Test func aRefusedConnectionIsReportedAsANetworkError() async throws {
        // The listener is released at the end of this expression, so nothing listens on its port
        // afterwards.
        let address = try Listener(.tcp(host: "127.0.0.1", port: 0)).address
        let client = PushClient(
            server: try #require(URL(string: "http://\(address)")),
            credentials: .token("t"),
            options: .init(testing: [])
        )
        await #expect(throws: PushClientError.offline(.cannotConnectToHost)) { try await client.notification(7) }
    }

    @Test func aSilentServerTimesOut() async throws {
        let options = PushClient.Options(testing: [], timeout: .seconds(1))
        try await ScriptedPeer.run({ _, _ in .silence }, options: options) { peer, client in
            await #expect(throws: PushClientError.offline(.timedOut)) { try await client.notification(7) }
            #expect(peer.requests.count == 1)
        }
    }

    @Test func aCallThatIsCancelledEnds() async throws {
        try await ScriptedPeer.run({ _, _ in .silence }) { _, client in
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await client.notification(7) }
                group.addTask { _ = try await client.sync() }
                group.cancelAll()
                while let result = await group.nextResult() {
                    #expect(throws: CancellationError.self) { try result.get() }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func aCallThatIsCancelledBeforeItBeginsEnds() async throws {
        try await ScriptedPeer.run({ _, _ in .silence }) { _, client in
            await withThrowingTaskGroup(of: Void.self) { group in
                group.cancelAll()
                for _ in 0..<2000 { group.addTask { _ = try await client.notification(7) } }
                while let result = await group.nextResult() {
                    #expect(throws: CancellationError.self) { try result.get() }
                }
            }
        }
    }

    @Test(
        arguments: [
            (.rateLimited, "7", .seconds(7)), (.busy, "0", .seconds(0)), (.busy, nil, nil),
            (.tooManyAttempts, "soon", nil),
            (.tooManyAttempts, "-1", nil), (.storageFull, "30", .seconds(30)), (.internalError, nil, nil),
            (.requestTimeout, nil, nil), (.idempotencyKeyInUse, nil, nil),
        ] as [(ProblemCode, String?, Duration?)]
    )
    func theRetryDelayIsReportedAndNotWaitedFor(code: ProblemCode, field: String?, wait: Duration?) async throws {
        let script: ScriptedPeer.Script = { request, _ in
            var answer = PeerAnswer(to: request, code)
            answer["Retry-After"] = field
            return .answer(answer)
        }
        try await ScriptedPeer.run(script) { peer, client in
            await #expect(throws: PushClientError.busy(Problem(code), retryAfter: wait)) {
                try await client.notification(7)
            }
            #expect(peer.requests.count == 1)
        }
    }
}
