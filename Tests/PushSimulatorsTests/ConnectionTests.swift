import Glibc
import Reactor
import Synchronization
import Testing

@testable import PushSimulators

/// Runs `body` on a loop of its own with the two ends of a connection: the server's as a stream, the client's as a
/// descriptor, which `body` need not close.
private func withConnection<Result: Sendable>(
    _ body: @Sendable @escaping (EventLoop, SocketStream, SocketStream) async throws -> Result
) async throws -> Result {
    let loop = try EventLoop(index: 0)
    defer { loop.stop() }
    return try await withThrowingTaskGroup(of: Result.self) { group in
        group.addTask(executorPreference: loop) {
            var pair: [Int32] = [0, 0]
            let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
            try SystemError.check("socketpair") { socketpair(AF_UNIX, type, 0, &pair) }
            let (server, client) = (
                SocketStream(try Descriptor(pair[0], on: loop)), SocketStream(try Descriptor(pair[1], on: loop))
            )
            defer {
                server.close()
                client.close()
            }
            return try await body(loop, server, client)
        }
        return try await #require(group.next())
    }
}

extension SocketStream {
    fileprivate func send(_ bytes: [UInt8]) throws {
        let count = try bytes.withUnsafeBytes { try self.write($0) }
        try #require(count == bytes.count)
    }

    /// Reads until the frames satisfy the condition, or the peer ends.
    fileprivate func frames(until isEnough: ([Frame]) -> Bool) async throws -> [Frame] {
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let frames = Frame.all(in: received)
            if isEnough(frames) { return frames }
            let count = try buffer.withUnsafeMutableBytes { try self.read(into: $0) }
            guard let count else {
                try await self.waitToRead(until: .now + .seconds(10))
                continue
            }
            if count == 0 { return frames }
            received += buffer[..<count]
        }
    }
}

@Suite struct HTTP2ConnectionTests {
    private static let limits = SimulatorServer.Limits(streamsBeforeProof: 100, streams: 100)

    @Test func aRequestThatTakesLongDoesNotHoldUpTheNext() async throws {
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
            // Safe: all of it stays on this loop.
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

@Suite struct TLSStreamTests {
    private static func context() throws -> TLSServerContext {
        let identity = try TestAuthority().makeServerIdentity()
        return try TLSServerContext(
            certificates: identity.certificate,
            privateKey: identity.privateKey,
            protocols: ["h2"]
        )
    }

    @Test func aHandshakeWithASilentClientEndsAtItsDeadline() async throws {
        await #expect(throws: WaitError.timedOut) {
            try await withConnection { _, server, _ in
                try await TLSStream(server, context: Self.context()).handshake(until: .now + .milliseconds(20))
            }
        }
    }

    @Test func aHandshakeWithAClientThatSpeaksNoTLSFails() async throws {
        await #expect(throws: StreamError.self) {
            try await withConnection { _, server, client in
                try client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8))
                try await TLSStream(server, context: Self.context()).handshake(until: .now + .seconds(10))
            }
        }
    }

    @Test func aHandshakeWithAClientThatLeavesFails() async throws {
        await #expect(throws: StreamError.self) {
            try await withConnection { _, server, client in
                client.close()
                try await TLSStream(server, context: Self.context()).handshake(until: .now + .seconds(10))
            }
        }
    }

    @Test func aKeyOfAnotherCertificateMakesNoContext() throws {
        let authority = try TestAuthority()
        let (one, other) = (try authority.makeServerIdentity(), try authority.makeServerIdentity())
        #expect(throws: OpenSSLError.self) {
            try TLSServerContext(certificates: one.certificate, privateKey: other.privateKey, protocols: ["h2"])
        }
    }

    @Test(arguments: ["", "no PEM"])
    func whatIsNoCertificateMakesNoContext(text: String) {
        #expect(throws: OpenSSLError.self) {
            try TLSServerContext(certificates: text, privateKey: text, protocols: ["h2"])
        }
    }
}
