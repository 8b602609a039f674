import COpenSSL
import PushSimulators
import PushTesting
import Reactor
import SocketTLS
import Testing

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
                let text = Array("GET / HTTP/1.1\r\n\r\n".utf8)
                _ = try text.withUnsafeBytes { try client.write($0) }
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

    /// Runs `body` with both ends of a connection whose handshake is done.
    private func withHandshake<Result: Sendable>(
        protocols: [String] = ["h2"],
        newest: Int32 = TLS1_3_VERSION,
        _ body: @Sendable @escaping (TLSStream, TLSTestClient) async throws -> Result
    ) async throws -> Result {
        try await withConnection { loop, server, socket in
            let stream = try TLSStream(server, context: Self.context())
            let client = try TLSTestClient(socket, protocols: protocols, newest: newest)
            // Safe: all of it stays on this loop.
            nonisolated(unsafe) let (serverSide, clientSide) = (stream, client)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask(executorPreference: loop) {
                    try await serverSide.handshake(until: .now + .seconds(10))
                }
                group.addTask(executorPreference: loop) { try await clientSide.connect() }
                try await group.waitForAll()
            }
            return try await body(stream, client)
        }
    }

    private static func read(_ stream: TLSStream) async throws -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            if let count = try buffer.withUnsafeMutableBytes({ try stream.read(into: $0) }) {
                return Array(buffer[..<count])
            }
            try await stream.waitToRead(until: .now + .seconds(10))
        }
    }

    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func bytesArriveInBothDirections(version: Int32) async throws {
        let (received, answer) = try await self.withHandshake(newest: version) { stream, client in
            #expect(stream.chosenProtocol == "h2")
            try client.write("ping")
            let received = try await Self.read(stream)
            let count = try Array("pong".utf8).withUnsafeBytes { try stream.write($0) }
            #expect(count == 4)
            return (received, try await client.read())
        }
        #expect(received == Array("ping".utf8))
        #expect(answer == Array("pong".utf8))
    }

    @Test func aClientWithoutProtocolsIsGivenNone() async throws {
        let chosen = try await self.withHandshake(protocols: []) { stream, _ in stream.chosenProtocol }
        #expect(chosen == nil)
    }

    @Test func aClientOfOtherProtocolsIsRefused() async throws {
        await #expect(throws: (any Error).self) { try await self.withHandshake(protocols: ["spdy/3"]) { _, _ in } }
    }

    @Test func olderTLSIsRefused() async throws {
        await #expect(throws: (any Error).self) { try await self.withHandshake(newest: TLS1_1_VERSION) { _, _ in } }
    }

    @Test func anEndWithoutNoticeIsAnEnd() async throws {
        // TLS 1.3 would leave tickets unread, and the close would reset the connection.
        let received = try await self.withHandshake(newest: TLS1_2_VERSION) { stream, client in
            client.close()
            return try await Self.read(stream)
        }
        #expect(received == [])
    }

    @Test func endingTheWritesTellsThePeerAndLeavesReadingOpen() async throws {
        let (end, received) = try await self.withHandshake { stream, client in
            stream.endWriting()
            let end = try await client.read()
            #expect(client.wasNotified)
            try client.write("late")
            return (end, try await Self.read(stream))
        }
        #expect(end == [])
        #expect(received == Array("late".utf8))
    }

    @Test func aClientMayAskForNewKeys() async throws {
        let (received, answer) = try await self.withHandshake { stream, client in
            client.askForNewKeys()
            try client.write("ping")
            let received = try await Self.read(stream)
            _ = try Array("pong".utf8).withUnsafeBytes { try stream.write($0) }
            return (received, try await client.read())
        }
        #expect(received == Array("ping".utf8))
        #expect(answer == Array("pong".utf8))
    }

    @Test func aWriteThatDoesNotFitIsFinishedWhenThePeerReads() async throws {
        let sent = [UInt8](repeating: 7, count: 3_000_000)
        let (blocked, received) = try await self.withHandshake { stream, client in
            var written = 0
            var blocked = false
            var received = 0
            while written < sent.count {
                let count = try sent.withUnsafeBytes { bytes in
                    try stream.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
                }
                if let count {
                    written += count
                } else {
                    blocked = true
                    received += try await client.read().count
                }
            }
            while received < sent.count { received += try await client.read().count }
            return (blocked, received)
        }
        #expect(blocked)
        #expect(received == sent.count)
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
