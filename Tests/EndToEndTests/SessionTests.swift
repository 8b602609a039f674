import Foundation
import PushAPI
import PushClient
import PushCore
import PushSimulators
import Testing

@testable import sealpost

/// A session over real sockets, from an app's side.
@Suite(.timeLimit(.minutes(5))) struct SessionTests {
    @Test func anAppSignsInOnceCollectsWithItsTokenAndSignsOut() async throws {
        try await Stack.run { stack in
            let session = try await PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password)
            )
            .signIn()
            #expect(abs(session.expiresAt.timeIntervalSinceNow - 7_776_000) < 600)
            let client = PushClient(server: stack.server, credentials: .token(session.token))
            try await client.register(platform: "apns", handle: String(repeating: "ab", count: 32))
            let item = try await client.send("hello")
            _ = try await stack.providers.apns.pushes.acceptedPush(1, within: .seconds(30))
            #expect(try await client.notification(item.id).value.payload == .string("hello"))
            // Each on a connection of its own, and so on each loop.
            let others = (0..<4).map { _ in PushClient(server: stack.server, credentials: .token(session.token)) }
            for other in others { _ = try await other.notification(item.id) }
            #expect(try await client.signOut())
            await #expect(throws: PushClientError.signedOut) { try await client.notification(item.id) }
            // They have stores of their own, so that the server tells them.
            for other in others {
                await expectUnauthorized { try await other.notification(item.id) }
            }
        }
    }

    @Test func aTokenSignsNobodyIn() async throws {
        try await Stack.run { stack in
            let client = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password)
            )
            let token = try await client.signIn().token
            let error = await #expect(throws: PushClientError.self) {
                try await PushClient(server: stack.server, credentials: .token(token)).signIn()
            }
            guard case .problem(let problem) = error else { throw CancellationError() }
            #expect(problem.code == .forbidden)
        }
    }

    @Test func aSessionLastsAsConfigured() async throws {
        try await Stack.run(configure: { $0.sessionExpiresIn = 3600 }) { stack in
            let client = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password)
            )
            let session = try await client.signIn()
            #expect(abs(session.expiresAt.timeIntervalSinceNow - 3600) < 600)
        }
    }
}
