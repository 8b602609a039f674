import Foundation
import PushAPI
import PushClient
import PushCore
import PushServer
import PushTesting
import Testing

@testable import PushApplication

/// `PushClient.events()` with the real server.
@Suite(.timeLimit(.minutes(5))) struct ClientStreamTests {
    private func withStack(_ body: @escaping @Sendable (Stack) async throws -> Void) async throws {
        try await Stack.run { configuration in
            // The default senders: the stream sender alone.
            configuration.senders = Configuration().senders
            configuration.server.streamHeartbeat = .milliseconds(100)
            configuration.quotas = [:]
        } _: { stack in
            try await body(stack)
        }
    }

    private func next(_ events: inout PushEvents.Iterator) async throws -> String {
        switch try await events.next() {
        case .connected: "connected"
        case .pushed(let id, let fetched): "\(id) \(fetched?.value.payload?.text ?? "nothing")"
        case .disconnected(let error, _): "disconnected \(error.map { "\($0)" } ?? "")"
        case nil: "end"
        }
    }

    @Test func pushesArriveLiveAndMissedOnesWithTheNextStream() async throws {
        try await self.withStack { stack in
            let credentials = PushClient.Credentials.basic(username: "alice", password: Stack.password)
            let client = PushClient(server: stack.server, credentials: credentials, options: .init(testing: []))
            var events = client.events().makeAsyncIterator()
            #expect(try await self.next(&events) == "connected")
            for text in ["first", "second"] {
                let id = try await client.send(text).id
                #expect(try await self.next(&events) == "\(id) \(text)")
            }
            events = client.events().makeAsyncIterator()
            // The server must notice the end of the old stream before the next push. Otherwise it
            // could write the push to that stream.
            try await eventually { stack.application.parts.links.streams.devices.isEmpty }
            let missed = try await client.send("third").id
            #expect(try await self.next(&events) == "connected")
            #expect(try await self.next(&events) == "\(missed) third")
            #expect(try await client.sync().value.notifications.count == 3)
        }
    }

    @Test func aTokenThatIsRevokedEndsTheStream() async throws {
        try await self.withStack { stack in
            let credentials = PushClient.Credentials.basic(username: "alice", password: Stack.password)
            let session = try await PushClient(
                server: stack.server,
                credentials: credentials,
                options: .init(testing: [])
            ).signIn()
            let store = PushClient.Store.memory
            func client(_ account: String) -> PushClient {
                PushClient(
                    server: stack.server,
                    credentials: .token(session.token, account: account),
                    options: .init(testing: []),
                    store: store
                )
            }
            let phone = client("phone")
            var events = phone.events().makeAsyncIterator()
            #expect(try await self.next(&events) == "connected")
            // Both clients have the same session, and the first client does not know yet that this
            // session has ended.
            try await client("other").signOut()
            #expect(try await self.next(&events) == "disconnected ")
            await #expect(throws: PushClientError.self) { try await events.next() }
        }
    }
}
