import COpenSSL
import SocketTLS
import Testing

/// Streaming bodies over TLS.
@Suite(.timeLimit(.minutes(5))) struct StreamingBodyTests {
    @Test(arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func piecesArriveAndAClientThatLeavesIsNoticed(version: Int32) async throws {
        var options = TLSTestClient.Options()
        options.newest = version
        try await TestServer.run { [options] test in
            try await test.withClient(options) { client in
                try await client.write("GET /streamed HTTP/1.1\r\nHost: h\r\n\r\n")
                var received: [UInt8] = []
                while received.suffix(3) != Array("c\r\n".utf8)[...] { received += try await client.read() }
                for byte in Array("abc".utf8) { #expect(received.count { $0 == byte } >= 300_000) }
                // The server writes nothing more, so only a read can detect the client's end. If
                // the server did not read, it would wait for an hour.
                try await client.endWriting()
                #expect(try await client.read() == [])
            }
        }
    }
}
