import COpenSSL
import Glibc
import PushTesting
import Reactor
import SocketTLS
import Testing

@Suite(.timeLimit(.minutes(5))) struct TLSStreamTests {
    private static let versions = [TLS1_2_VERSION, TLS1_3_VERSION]

    private static func options(_ newest: Int32) -> TLSTestClient.Options {
        var options = TLSTestClient.Options()
        options.newest = newest
        return options
    }

    @Test(arguments: Self.versions, [nil, 1, 7])
    func bytesArriveInBothDirectionsHoweverTheyAreCut(version: Int32, portion: Int?) async throws {
        var options = Self.options(version)
        options.portion = portion
        let (received, answer) = try await withHandshake(nil, options) { stream, client in
            try await client.write("ping")
            let received = try await read(stream)
            try write("pong", to: stream)
            return (received, try await client.read())
        }
        #expect(received == Array("ping".utf8))
        #expect(answer == Array("pong".utf8))
    }

    @Test func aHandshakeWithASilentClientEndsAtItsDeadline() async throws {
        await #expect(throws: WaitError.timedOut) {
            try await withConnection { _, server, _ in
                try await TLSStream(server, context: TLSServerContext()).handshake(until: .now + .milliseconds(20))
            }
        }
    }

    @Test func aHandshakeWithAClientThatSpeaksNoTLSFails() async throws {
        await #expect(throws: StreamError.self) {
            try await withConnection { _, server, client in
                try await client.send(Array("GET / HTTP/1.1\r\n\r\n".utf8)[...])
                try await TLSStream(server, context: TLSServerContext()).handshake(until: .now + .seconds(30))
            }
        }
    }

    @Test func aHandshakeWithAClientThatLeavesFails() async throws {
        await #expect(throws: StreamError.self) {
            try await withConnection { _, server, client in
                client.close()
                try await TLSStream(server, context: TLSServerContext()).handshake(until: .now + .seconds(30))
            }
        }
    }

    @Test(arguments: Self.versions)
    func endWithoutCloseNotifyIsAnEnd(version: Int32) async throws {
        let received = try await withHandshake(nil, Self.options(version)) { stream, client in
            try write("tickets come with it", to: stream)
            _ = try await client.read()
            client.close()
            return try await read(stream)
        }
        #expect(received == [])
    }

    @Test(arguments: Self.versions)
    func endingTheWritesTellsThePeerAndLeavesReadingOpen(version: Int32) async throws {
        let (end, received) = try await withHandshake(nil, Self.options(version)) { stream, client in
            stream.endWriting()
            let end = try await client.read()
            #expect(client.wasNotified)
            try await client.write("late")
            return (end, try await read(stream))
        }
        #expect(end == [])
        #expect(received == Array("late".utf8))
    }

    @Test(arguments: Self.versions)
    func aPeerThatHasEndedItsWritesIsStillAnswered(version: Int32) async throws {
        let (received, answer) = try await withHandshake(nil, Self.options(version)) { stream, client in
            try await client.write("ping")
            try await client.endWriting()
            let received = [try await read(stream), try await read(stream)]
            try write("pong", to: stream)
            return (received, try await client.read())
        }
        #expect(received == [Array("ping".utf8), []])
        #expect(answer == Array("pong".utf8))
    }

    @Test(arguments: Self.versions)
    func closingTellsThePeer(version: Int32) async throws {
        let (end, wasNotified) = try await withHandshake(nil, Self.options(version)) { stream, client in
            stream.close()
            stream.close()
            return (try await client.read(), client.wasNotified)
        }
        #expect(end == [])
        #expect(wasNotified)
    }

    @Test func aClientMayAskForNewKeys() async throws {
        let (received, answer) = try await withHandshake { stream, client in
            client.askForNewKeys()
            try await client.write("ping")
            let received = try await read(stream)
            try write("pong", to: stream)
            return (received, try await client.read())
        }
        #expect(received == Array("ping".utf8))
        #expect(answer == Array("pong".utf8))
    }

    @Test func keyUpdatesWithoutContentEndTheConnection() async throws {
        let reason = try await withHandshake { stream, client in
            for _ in 0..<17 { try await client.updateKeys() }
            try await client.write("late")
            return await failure { _ = try await read(stream) }
        }
        #expect(reason?.contains("no content") == true, "\(String(describing: reason))")
    }

    @Test func keyUpdatesBetweenContentAreAllowed() async throws {
        let received = try await withHandshake { stream, client in
            var received: [UInt8] = []
            for _ in 0..<40 {
                for _ in 0..<16 { try await client.updateKeys() }
                try await client.write("x")
                received += try await read(stream)
            }
            return received
        }
        #expect(received.count == 40)
    }

    /// The client sends a ClientHello in records of one byte each. This costs the client little,
    /// and the server can answer nothing before the end. Meanwhile, the server must not block
    /// other connections.
    @Test func fragmentedClientHelloLetsOthersRun() async throws {
        let crumb: [UInt8] = [0x16, 3, 1, 0, 1]
        let start: [UInt8] = [1, 0, 0xFF, 0xFF].flatMap { crumb + [$0] }
        let greeting = start + [UInt8](repeating: 3, count: 30_000).flatMap { crumb + [$0] }
        let unread = try await withConnection { loop, server, client in
            let sent = try greeting.withUnsafeBytes { try client.write($0) } ?? 0
            try #require(sent > 100_000)
            let stream = try TLSStream(server, context: TLSServerContext())
            // This is safe, because both streams are used only on this event loop.
            nonisolated(unsafe) let (handshake, other) = (stream, server)
            return await withTaskGroup(of: Int?.self) { group in
                // The cancellation of the task group ends this task.
                group.addTask(executorPreference: loop) {
                    _ = await failure { try await handshake.handshake(until: .now + .milliseconds(200)) }
                    return nil
                }
                group.addTask(executorPreference: loop) {
                    var buffer = [UInt8](repeating: 0, count: 1_000_000)
                    return sent - recv(other.descriptor.number, &buffer, buffer.count, Int32(MSG_PEEK))
                }
                return await group.reduce(nil) { $0 ?? $1 }
            }
        }
        #expect(try #require(unread) < 90_000)
    }

    @Test func aSecondHandshakeWithinTheConnectionIsRefused() async throws {
        let (first, again) = try await withHandshake(nil, Self.options(TLS1_2_VERSION)) { stream, client in
            // This is safe, because the client is used only on this event loop.
            nonisolated(unsafe) let client = client
            async let again = failure { try await client.renegotiate() }
            let own = await failure { _ = try await read(stream) }
            return (own, await again)
        }
        // The server only refuses the renegotiation. This client then ends the connection.
        #expect(first?.contains("alert handshake failure") == true, "\(String(describing: first))")
        #expect(again?.contains("no renegotiation") == true, "\(String(describing: again))")
    }

    @Test(arguments: Self.versions)
    func aWriteThatDoesNotFitIsFinishedWhenThePeerReads(version: Int32) async throws {
        let sent = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
        let (blocked, received) = try await withHandshake(nil, Self.options(version)) { stream, client in
            var written = 0
            var blocked = false
            var received: [UInt8] = []
            while written < sent.count {
                let count = try sent.withUnsafeBytes { bytes in
                    try stream.write(UnsafeRawBufferPointer(rebasing: bytes[written...]))
                }
                if let count {
                    written += count
                } else {
                    blocked = true
                    received += try await client.read()
                }
            }
            while received.count < sent.count { received += try await client.read() }
            return (blocked, received)
        }
        #expect(blocked)
        #expect(received == sent)
    }
}
