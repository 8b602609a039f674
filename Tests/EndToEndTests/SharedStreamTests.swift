import Foundation
import PostgreSQL
import PushCore
import PushPostgreSQL
import PushServer
import PushStore
import PushTesting
import Reactor
import Testing

@testable import PushApplication
@testable import sealpost

/// Event streams of a server that shares its database with another server.
@Suite(.timeLimit(.minutes(5))) struct SharedStreamTests {
    /// The change that the other server makes to the user.
    enum Ending: CaseIterable, Sendable {
        case disabling, deleting, password
    }

    @Test(arguments: Ending.allCases) func aStreamEndsWhenAnotherServerChangesItsUser(ending: Ending) async throws {
        let database = try PostgreSQLCluster.shared.newDatabase()
        try await Stack.run { configuration in
            configuration.database = database.description
            configuration.senders = Configuration().senders
            // With an interval of an hour, no heartbeat is sent that could end a stream.
            configuration.server.streamHeartbeat = .seconds(3600)
        } _: { stack in
            let keyring = try KeyringFile(stack.folder.file("keyring")).load()
            let other = try PostgreSQLPlace(database, pool: .longTimeouts).open(keyring, StoreOptions())
            let loop = try EventLoop(index: 0)
            try await withTaskExecutorPreference(loop) {
                let streams = StreamTests.Streams(stack: stack, loop: loop)
                _ = try await streams.register()
                _ = try await streams.register(as: "mallory")
                let (client, bystander) = (try await streams.listen(), try await streams.listen(as: "mallory"))
                try await self.end(ending, in: other)
                try await client.end()
                let id = try await streams.post(as: "mallory")
                #expect(try await bystander.event().hasPrefix("id: \(id) "))
            }
            loop.stop()
            await other.close()
        }
    }

    @Test func aChangeAtAnotherServerReachesAStream() async throws {
        let database = try PostgreSQLCluster.shared.newDatabase()
        try await Stack.run { configuration in
            configuration.database = database.description
            configuration.senders = Configuration().senders
            configuration.server.streamHeartbeat = .seconds(3600)
        } _: { stack in
            let keyring = try KeyringFile(stack.folder.file("keyring")).load()
            var options = StoreOptions()
            options.streamLanes = ["stream", "stream/look"]
            options.cluster.announcedLanes = options.streamLanes
            options.looks = ["stream": .seconds(1)]
            let other = try PostgreSQLPlace(database, pool: .longTimeouts).open(keyring, options)
            let loop = try EventLoop(index: 0)
            try await withTaskExecutorPreference(loop) {
                let streams = StreamTests.Streams(stack: stack, loop: loop)
                _ = try await streams.register()
                let client = try await streams.listen()
                let name = try #require(Username("alice"))
                let alice = try #require(try await other.makeReader().user(named: name))
                // The server may write the stream's row to the database a moment after the
                // stream's greeting.
                try await eventually {
                    try await other.enqueueLooks(
                        [LookOrder(user: alice.id, app: .usual)],
                        makeID: { NotificationID(rawValue: .random(in: 1..<1 << 31)) },
                        now: Date()
                    )
                }
                // The event of a silent push has no event id, so a client that reconnects
                // continues after the last notification.
                #expect(try await client.event().hasPrefix("data: {\"secureId\":\""))
            }
            loop.stop()
            await other.close()
        }
    }

    private func end(_ ending: Ending, in store: any Store) async throws {
        let (alice, now) = (try #require(Username("alice")), Date())
        let change: UserChange =
            switch ending {
            case .disabling: try await store.changeUser(alice, isDisabled: true, now: now)
            case .deleting: try await store.deleteUser(alice, by: nil)
            case .password: try await store.changeUser(alice, password: PasswordHash(phc: "none"), now: now)
            }
        #expect(change == .done)
    }
}
