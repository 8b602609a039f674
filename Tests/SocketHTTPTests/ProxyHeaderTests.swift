import HTTPTypes
import Synchronization
import Testing

@testable import SocketHTTP

/// The PROXY protocol of load balancers.
@Suite(.timeLimit(.minutes(5))) struct ProxyHeaderTests {
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let ports: [UInt8] = [0xC8, 0x22, 0x1F, 0x90]
    private static let ipv4: [UInt8] = [203, 0, 113, 9, 10, 0, 0, 1] + Self.ports
    private static let ipv6: [UInt8] = {
        var bytes: [UInt8] = [0x20, 0x01, 0x0D, 0xB8]
        bytes += [UInt8](repeating: 0, count: 11) + [9]
        bytes += [UInt8](repeating: 0, count: 15) + [1]
        return bytes + Self.ports
    }()

    /// Returns a header of version 2 with these addresses and their length.
    private static func binary(_ command: UInt8, _ family: UInt8, _ addresses: [UInt8]) -> [UInt8] {
        let length = addresses.count
        return Self.signature + [command, family, UInt8(length >> 8), UInt8(length & 0xFF)] + addresses
    }

    /// Reads as many bytes as the steps demand. Returns the final step and the number of bytes
    /// read; `nil` if more bytes are needed.
    private func read(_ bytes: [UInt8]) -> (step: ProxyHeader.Step, count: Int)? {
        var count = 0
        while true {
            let step = ProxyHeader.step(after: Array(bytes[..<count]))
            guard case .read(let more) = step else { return (step, count) }
            guard count + more <= bytes.count else { return nil }
            count += more
        }
    }

    /// Each valid header with the client that it names. `nil` means the load balancer itself.
    private static let validLines: [(header: String, client: String?)] = [
        ("PROXY TCP4 203.0.113.9 10.0.0.1 51234 8080\r\n", "203.0.113.9"),
        ("PROXY TCP6 2001:db8::9 2001:db8::1 51234 0\r\n", "2001:db8::9"),
        ("PROXY TCP6 ::ffff:203.0.113.9 ::1 65535 1\r\n", "203.0.113.9"),
        ("PROXY UNKNOWN\r\n", nil), ("PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", nil),
        ("PROXY UNKNOWN \(String(repeating: "x", count: 91))\r\n", nil),
    ]

    private static let validBinaries: [(header: [UInt8], client: String?)] = [
        (Self.binary(0x21, 0x11, Self.ipv4), "203.0.113.9"), (Self.binary(0x21, 0x21, Self.ipv6), "2001:db8::9"),
        // The server ignores further values after the addresses.
        (Self.binary(0x21, 0x11, Self.ipv4 + [UInt8](repeating: 4, count: 2036)), "203.0.113.9"),
        (Self.binary(0x20, 0x00, []), nil), (Self.binary(0x20, 0x11, Self.ipv4), nil),
        (Self.binary(0x21, 0x00, []), nil), (Self.binary(0x21, 0x31, [UInt8](repeating: 0x61, count: 216)), nil),
    ]

    /// Each valid header with the client that it names. `nil` means the load balancer itself.
    private static let valid: [(header: [UInt8], client: String?)] =
        Self.validLines.map { (Array($0.header.utf8), $0.client) } + Self.validBinaries

    @Test(arguments: Self.valid) func aHeaderNamesTheClientAndEndsBeforeItsBytes(header: [UInt8], client: String?)
        throws
    {
        let source = try client.map { ProxyHeader.Source.client(try #require(IPAddress($0))) } ?? .balancer
        let found = try #require(self.read(header + Array("GET /".utf8)))
        #expect(found.step == .complete(source) && found.count == header.count)
        for end in header.indices { #expect(self.read(Array(header[..<end])) == nil, "\(end)") }
    }

    private static let malformedLines: [String] = [
        "GET / HTTP/1.1\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 51234 8080\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 51234\r\n", "PROXY TCP4  203.0.113.9 10.0.0.1 1 2\r\n",
        "PROXY TCP4 2001:db8::9 10.0.0.1 1 2\r\n", "PROXY TCP6 203.0.113.9 ::1 1 2\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 65536 2\r\n", "PROXY TCP4 203.0.113.9 10.0.0.1 +1 2\r\n",
        "PROXY TCP4 203.0.113.9 10.0.0.1 1 \r\n", "PROXY TCP4 sealpost 10.0.0.1 1 2\r\n",
        "PROXY tcp4 203.0.113.9 10.0.0.1 1 2\r\n", "PROXY UDP4 203.0.113.9 10.0.0.1 1 2\r\n",
        "PROXY \r\nGET / HTTP/1.1", "proxy UNKNOWN\r\n\r\n",
        "PROXY UNKNOWN \(String(repeating: "x", count: 92))\r\n",
    ]

    @Test(arguments: Self.malformedLines) func aMalformedLineIsRefused(line: String) {
        #expect(self.read(Array(line.utf8))?.step == .malformed)
    }

    private static let malformedBinaries: [[UInt8]] = [
        Self.binary(0x21, 0x11, Array(Self.ipv4.dropLast())), Self.binary(0x21, 0x21, Self.ipv4),
        Self.binary(0x21, 0x12, Self.ipv4), Self.binary(0x22, 0x11, Self.ipv4), Self.binary(0x11, 0x11, Self.ipv4),
        Self.binary(0x21, 0x11, [UInt8](repeating: 0, count: 2049)), Self.signature + [0x21, 0x11, 0xFF, 0xFF],
        Array(Self.signature.dropLast()) + [0x0B, 0x21, 0x11, 0x00, 0x00],
    ]

    @Test(arguments: Self.malformedBinaries)
    func aMalformedHeaderIsRefused(bytes: [UInt8]) {
        #expect(self.read(bytes)?.step == .malformed)
    }

    private static let proxies = TrustedProxies(
        networks: [IPNetwork("127.0.0.1")].compactMap(\.self),
        includesUnix: false,
        field: .xForwardedFor
    )

    /// Runs a server that reads PROXY headers and answers with the client's address. Returns the
    /// peers that sent malformed headers.
    private func withClientServer(_ body: @Sendable @escaping (TestServer) async throws -> Void) async throws
        -> [String]
    {
        let bad = Mutex<[String]>([])
        try await withServer(
            proxies: Self.proxies,
            opening: .init(onBadProxyHeader: { peer in bad.withLock { $0.append("\(peer)") } }),
            answer: { request in Response(status: .ok, body: Array("\(request.client)".utf8)) },
            body
        )
        return bad.withLock { $0 }
    }

    private static let get = Array("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n".utf8)

    /// The request arrives together with the PROXY header, or after it.
    @Test(arguments: [true, false]) func theServerSeesTheClientOfATrustedBalancer(isOnePiece: Bool) async throws {
        let bad = try await self.withClientServer { server in
            for (header, address) in Self.valid where address != nil {
                let client = try server.client()
                if isOnePiece {
                    try await client.send((header + Self.get)[...])
                } else {
                    for byte in header { try await client.send([byte]) }
                    try await client.send(Self.get[...])
                }
                // The server ignores the client's own `X-Forwarded-For`, because it does not trust
                // the client.
                #expect(try await client.response().body == address)
                try await client.send(Self.get[...])
                #expect(try await client.response().body == address)
            }
        }
        #expect(bad.isEmpty)
    }

    @Test func aHealthCheckOfTheBalancerIsServed() async throws {
        let bad = try await self.withClientServer { server in
            let client = try server.client()
            try await client.send(Self.binary(0x20, 0x00, [])[...])
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.response().body == "127.0.0.1")
        }
        #expect(bad.isEmpty)
    }

    @Test func aTrustedConnectionWithoutAHeaderIsClosedAndReported() async throws {
        let bad = try await self.withClientServer { server in
            let client = try server.client()
            // The client sends no more bytes than the server reads. With unread bytes, the server
            // would reset the connection.
            try await client.send("GET / HTTP/1.1\r")
            #expect(try await client.rest().isEmpty)
        }
        #expect(bad == ["127.0.0.1"])
    }

    /// If the server read the header of any peer, a client could give another client's address as
    /// its own.
    @Test func aHeaderOfAnUntrustedPeerIsNoRequest() async throws {
        let bad = try await self.withClientServer { server in
            let client = try server.client(from: "127.0.0.2")
            try await client.send("PROXY TCP4 203.0.113.9 10.0.0.1 51234 8080\r\n")
            #expect(try await client.response().status == "HTTP/1.1 400 Bad Request")
            let other = try server.client(from: "127.0.0.2")
            try await other.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await other.response().body == "127.0.0.2")
        }
        #expect(bad.isEmpty)
    }
}
