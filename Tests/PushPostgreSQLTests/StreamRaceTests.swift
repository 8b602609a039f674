import Foundation
import PushCore
import PushDelivery
import PushStore
import PushTesting
import Synchronization
import Testing

/// Streams open and end at two servers while both servers store pushes.
@Suite(.timeLimit(.minutes(5))) struct StreamRaceTests {
    private static let devices = 100
    private static let steps = 12

    private let servers: [StreamServer]
    private let alice: User
    private let inbox = Inbox()

    init() async throws {
        let first = try StreamServer()
        self.servers = [first, try StreamServer(beside: first)]
        self.alice = try await first.fixture.addUser("alice", role: .publisher)
    }

    private func server() throws -> StreamServer { try #require(self.servers.randomElement()) }

    /// Opens and closes streams of one device and posts to it at random. Leaves the device with a
    /// stream, and returns the posted notifications.
    private func live(_ number: Int64, of user: User, _ device: RegistrationID) async throws -> (
        Set<Int64>, [StreamSubscription]
    ) {
        var posted: Set<Int64> = []
        var streams: [StreamSubscription] = []
        for step in 0..<Int64(Self.steps) {
            switch Int.random(in: 0..<4) {
            case 0: streams.append(try await self.server().open(device, of: user, into: self.inbox))
            case 1: if !streams.isEmpty { streams.remove(at: .random(in: streams.indices)) }
            default:
                let id = number * 1000 + step + 1
                let server = try self.server()
                try await server.fixture.post(id, from: self.alice, to: "username:\(user.name)")
                server.wakeUp()
                posted.insert(id)
            }
        }
        streams.append(try await self.server().open(device, of: user, into: self.inbox))
        return (posted, streams)
    }

    @Test func everyPushArrivesWhileStreamsMoveBetweenServers() async throws {
        var owners: [(user: User, device: RegistrationID)] = []
        for number in 0..<Self.devices {
            let user = try await self.servers[0].fixture.addUser("user\(number)")
            owners.append((user, try await self.servers[0].addDevice(of: user)))
        }
        let all = owners
        try await self.servers[0].whileRunning {
            try await self.servers[1].whileRunning {
                try await withThrowingTaskGroup(of: (Int, Set<Int64>, [StreamSubscription]).self) { group in
                    for (number, owner) in all.enumerated() {
                        group.addTask {
                            let (posted, streams) = try await self.live(Int64(number), of: owner.user, owner.device)
                            return (number, posted, streams)
                        }
                    }
                    for try await (number, posted, streams) in group {
                        try await eventually { Set(self.inbox[all[number].device]) == posted }
                        withExtendedLifetime(streams) {}
                    }
                }
            }
        }
    }
}
