import PushTesting
import Reactor
import Synchronization
import Testing

@testable import PushSimulators

extension SocketStream {
    fileprivate func send(_ bytes: [UInt8]) throws {
        let count = try bytes.withUnsafeBytes { try self.write($0) }
        try #require(count == bytes.count)
    }

    /// Reads until the received frames satisfy `isEnough`, or the peer ends the connection.
    /// Returns the frames.
    fileprivate func frames(until isEnough: ([Frame]) -> Bool) async throws -> [Frame] {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let frames = Frame.all(in: received)
            if isEnough(frames) { return frames }
            let count = try buffer.withUnsafeMutableBytes { try self.read(into: $0) }
            guard let count else {
                try await self.waitToRead(until: .now + .seconds(60))
                continue
            }
            if count == 0 { return frames }
            received += buffer[..<count]
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct HTTP2ConnectionTests {
    private static let limits = SimulatorServer.Limits(streamsBeforeProof: 100, streams: 100)

    @Test func aSlowRequestDoesNotDelayTheNext() async throws {
        let order = try await withConnection { loop, server, client in
            let (gate, open) = AsyncStream.makeStream(of: Void.self)
            let requests = Mutex(0)
            let connection = try HTTP2Connection(server, loop: loop, limits: Self.limits) { _ in
                let number = requests.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 { for await _ in gate {} }
                return SimulatedResponse(status: 200)
            }
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: loop) { await connection.serve() }
                try client.send(Frame.opening + Frame.request(stream: 1) + Frame.request(stream: 3))
                let first = try await client.frames { $0.contains(where: \.isHeaders) }
                open.finish()
                let second = try await client.frames { $0.contains(where: \.isHeaders) }
                client.close()
                return (first + second).filter(\.isHeaders).map(\.stream)
            }
        }
        #expect(order == [3, 1])
    }

    @Test func cancellationEndsTheConnectionWithGoAway() async throws {
        let last = try await withConnection { loop, server, client in
            let connection = try HTTP2Connection(server, loop: loop, limits: Self.limits) { _ in
                SimulatedResponse(status: 200)
            }
            // This is safe, because the stream is used only on this event loop.
            nonisolated(unsafe) let stream = server
            return try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: loop) {
                    await stream.descriptor.cancellingWaits { await connection.serve() }
                }
                try client.send(Frame.opening + Frame.request())
                _ = try await client.frames { $0.contains(where: \.isHeaders) }
                group.cancelAll()
                return try await client.frames { $0.contains(where: \.isGoAway) }.last
            }
        }
        #expect(last?.payload == [0, 0, 0, 1, 0, 0, 0, 0])
    }
}
