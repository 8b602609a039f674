import Foundation
import PushAPI
import PushClient
import PushCore
import PushServer
import PushSimulators
import PushStore
import Testing

@testable import PushApplication
@testable import sealpost_demo

/// A session over real sockets, from the view of an app.
@Suite(.timeLimit(.minutes(5))) struct SessionTests {
    @Test func anAppSignsInOnceCollectsWithItsTokenAndSignsOut() async throws {
        try await Stack.run { stack in
            let session = try await PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password),
                options: .init(testing: [])
            )
            .signIn()
            #expect(abs(session.expiresAt.timeIntervalSinceNow - 7_776_000) < 600)
            let client = PushClient(
                server: stack.server,
                credentials: .token(session.token),
                options: .init(testing: [])
            )
            try await client.register(platform: "apns", handle: String(repeating: "ab", count: 32))
            let item = try await client.send("hello")
            _ = try await stack.providers.apns.pushes.acceptedPush(1)
            #expect(try await client.notification(item.id).value.payload == .string("hello"))
            // Each client has its own connection, so different event loops of the server handle
            // them.
            let others = (0..<4).map { _ in
                PushClient(server: stack.server, credentials: .token(session.token), options: .init(testing: []))
            }
            for other in others { _ = try await other.notification(item.id) }
            #expect(try await client.signOut())
            await #expect(throws: PushClientError.signedOut) { try await client.notification(item.id) }
            // These clients have their own stores, so they learn of the sign-out from the server.
            for other in others {
                await expectUnauthorized { try await other.notification(item.id) }
            }
        }
    }

    /// The app itself does not sign out here. Another caller, such as an administrator, ends the
    /// session.
    @Test func theServerEndsADeviceWithItsSession() async throws {
        try await Stack.run { stack in
            let owner = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password),
                options: .init(testing: [])
            )
            let store = PushClient.Store.memory
            func client(_ session: Session) -> PushClient {
                let credentials = PushClient.Credentials.token(session.token, account: "alice")
                return PushClient(
                    server: stack.server,
                    credentials: credentials,
                    options: .init(testing: []),
                    store: store
                )
            }
            let (first, second) = (try await owner.signIn(), try await owner.signIn())
            let handle = String(repeating: "ab", count: 32)
            let registration = try await client(first).register(platform: "apns", handle: handle)
            // The client has no stored registration, so it ends only the session.
            #expect(
                try await PushClient(
                    server: stack.server,
                    credentials: .token(first.token),
                    options: .init(testing: [])
                ).signOut()
            )
            _ = try await owner.send("to nobody")
            let devices = try stack.application.store.makeReader()
            let name = try #require(Username("alice"))
            let alice = try #require(try await devices.user(named: name))
            #expect(try await devices.devices(ofUser: alice.id).isEmpty)
            // In its next session, the client notices that the device is no longer registered, and
            // registers it again.
            let again = try await client(second).registerIfNeeded(platform: "apns", handle: handle)
            #expect(again != registration)
            let item = try await owner.send("to the phone")
            let push = try await stack.providers.apns.pushes.acceptedPush(1)
            #expect(try push.member("secureId") == "\(item.id)")
            #expect(try await devices.devices(ofUser: alice.id).map(\.id.description) == [again])
        }
    }

    @Test func aTokenCannotSignIn() async throws {
        try await Stack.run { stack in
            let client = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password),
                options: .init(testing: [])
            )
            let token = try await client.signIn().token
            let error = await #expect(throws: PushClientError.self) {
                try await PushClient(server: stack.server, credentials: .token(token), options: .init(testing: []))
                    .signIn()
            }
            guard case .problem(let problem) = error else { throw CancellationError() }
            #expect(problem.code == .forbidden)
        }
    }

    @Test func aSessionLastsAsConfigured() async throws {
        try await Stack.run(configure: { $0.server.sessionLifetime = .seconds(3600) }) { stack in
            let client = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password),
                options: .init(testing: [])
            )
            let session = try await client.signIn()
            #expect(abs(session.expiresAt.timeIntervalSinceNow - 3600) < 600)
        }
    }
}
