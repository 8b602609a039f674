import ClientPeers
import Foundation
import PushAPI
import PushClient
import Testing

/// Tests tokens that the app provides when a call needs one.
@Suite(.timeLimit(.minutes(5))) struct TokenProviderTests {
    /// An app's backend that returns `t1`, `t2`, …
    private final class Backend: Sendable {
        private let asked = Locked<[String?]>([])

        /// The refused token of each request.
        var refused: [String?] { self.asked.withLock { $0 } }

        var credentials: PushClient.Credentials {
            .tokens(account: "alice") { refused in
                self.asked.withLock { asked in
                    asked.append(refused)
                    return "t\(asked.count)"
                }
            }
        }
    }

    /// Returns the script of a server that accepts only these tokens.
    private static func door(_ tokens: String...) -> ProtocolPeer.Script {
        { request, _ in
            let token = request.fields["authorization"]?.split(separator: " ").last.map(String.init) ?? ""
            return .answer(
                tokens.contains(token)
                    ? PeerAnswer(to: request, body: Samples.item(7)) : PeerAnswer(to: request, .tokenExpired)
            )
        }
    }

    @Test func firstTokenIsRequestedOnceAndReused() async throws {
        let backend = Backend()
        try await ProtocolPeer.run(Self.door("t1")) { peer in
            let client = peer.client(backend.credentials)
            for _ in 0..<3 { _ = try await client.notification(7) }
            #expect(backend.refused == [nil])
            #expect(peer.requests.map { $0.fields["authorization"] } == Array(repeating: "Bearer t1", count: 3))
        }
    }

    @Test func refusedTokenIsRenewedAndTheCallRetried() async throws {
        let backend = Backend()
        try await ProtocolPeer.run(Self.door("t1")) { peer in
            let client = peer.client(backend.credentials)
            _ = try await client.notification(7)
            peer.play(Self.door("t2"))
            #expect(try await client.notification(7).value.id == 7)
            #expect(backend.refused == [nil, "t1"])
            #expect(peer.requests.map { $0.fields["authorization"] } == ["Bearer t1", "Bearer t1", "Bearer t2"])
        }
    }

    @Test func concurrentCallsRequestOneToken() async throws {
        let backend = Backend()
        try await ProtocolPeer.run(Self.door("t1", "t2")) { peer in
            let client = peer.client(backend.credentials)
            try await withThrowingTaskGroup { group in
                for _ in 0..<20 { group.addTask { _ = try await client.notification(7) } }
                try await group.waitForAll()
            }
            #expect(backend.refused == [nil])
        }
    }

    @Test func secondRefusalFailsTheCallWithItsProblem() async throws {
        let backend = Backend()
        try await ProtocolPeer.run(Self.door()) { peer in
            let client = peer.client(backend.credentials)
            let problem = await unauthorized { try await client.notification(7) }
            #expect(problem?.code == .tokenExpired)
            #expect(backend.refused == [nil, "t1"])
        }
    }

    @Test func aProviderThatHasNoOtherTokenEndsTheCall() async throws {
        try await ProtocolPeer.run(Self.door()) { peer in
            let client = peer.client(.tokens(account: "alice") { _ in "always" })
            await unauthorized { try await client.notification(7) }
            #expect(peer.requests.count == 1)
        }
    }

    @Test func errorOfTheProviderFailsOneCallOnly() async throws {
        struct LoggedOut: Error {}
        let isIn = Locked(false)
        try await ProtocolPeer.run(Self.door("t")) { peer async throws in
            let client = peer.client(
                .tokens(account: "alice") { _ in
                    guard isIn.withLock({ $0 }) else { throw LoggedOut() }
                    return "t"
                }
            )
            await #expect(throws: LoggedOut.self) { try await client.notification(7) }
            #expect(peer.requests.isEmpty)
            isIn.withLock { $0 = true }
            #expect(try await client.notification(7).value.id == 7)
        }
    }

    /// The app's closure waits for a callback that never comes, and ignores cancellation.
    @Test func aProviderThatNeverReturnsEndsTheCallAndNothingElse() async throws {
        let isHanging = Locked(true)
        let hung = Locked<[CheckedContinuation<Void, Never>]>([])
        defer { for continuation in hung.withLock({ $0 }) { continuation.resume() } }
        var options = PushClient.Options(testing: [])
        // Long enough for the last call, however slow the machine is.
        options.deadline = .seconds(10)
        try await ProtocolPeer.run(Self.door("t")) { [options] peer async throws in
            let client = peer.client(
                .tokens(account: "alice") { _ in
                    if isHanging.withLock({ $0 }) {
                        await withCheckedContinuation { waiting in hung.withLock { $0.append(waiting) } }
                    }
                    return "t"
                },
                options: options
            )
            #expect(await advice { try await client.register(platform: "apns", handle: "a") } == .offline)
            #expect(await BackgroundRefresh(clients: { [client] }, limit: .milliseconds(100)).run() == .failed)
            let helper = NotificationServiceHelper(clients: { [client] }, limit: .milliseconds(100)) { _, _ in }
            await helper.deliver(PushMessage(id: 7), placeholder: NotificationContent()) { _ in }
            #expect(peer.requests.isEmpty)
            // No call waits for the closures that never return: the next call asks the app for a
            // token again.
            isHanging.withLock { $0 = false }
            #expect(try await client.notification(7).value.id == 7)
        }
    }

    @Test func aProviderThatTakesTooLongEndsWithTheCallsDeadline() async throws {
        var options = PushClient.Options(testing: [])
        options.deadline = .milliseconds(50)
        try await ProtocolPeer.run(Self.door()) { [options] peer in
            let client = peer.client(
                .tokens(account: "alice") { _ in
                    try await Task.sleep(for: .seconds(600))
                    return "t"
                },
                options: options
            )
            // The first call asks the app, and the second waits for the first one's token. When
            // the first gives up, the second could ask the app itself, but its deadline has
            // passed.
            async let first = advice { try await client.notification(7) }
            async let second = advice { try await client.notification(7) }
            #expect(await [first, second] == [.offline, .offline])
            #expect(peer.requests.isEmpty)
        }
    }
}
