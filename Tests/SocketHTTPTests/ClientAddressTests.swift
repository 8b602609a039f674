import Testing

@testable import SocketHTTP

@Suite(.timeLimit(.minutes(5))) struct ClientAddressTests {
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("::1", "::1"),
        ("::", "::"),
    ])
    func addressesHaveOneForm(text: String, description: String) {
        #expect(IPAddress(text)?.description == description)
    }

    @Test(arguments: [
        "", "localhost", "192.0.2", "192.0.2.256", "192.0.2.1:80", "[::1]", "fe80::1%lo", "192.0.2.1/32", "1",
        "192.0.2.1\0", "192.0.2.1\0.evil.example", "::1\0f",
    ])
    func invalidAddressesAreRefused(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", true),
        ("192.0.2.1", "192.0.2.2", false),
        ("192.0.2.0/24", "192.0.2.255", true),
        ("192.0.2.0/24", "192.0.3.0", false),
        ("0.0.0.0/0", "255.255.255.255", true),
        ("0.0.0.0/0", "2001:db8::1", false),
        ("192.0.2.0/24", "::ffff:192.0.2.7", true),
        ("2001:db8::/32", "2001:db8:ffff::1", true),
        ("2001:db8::/32", "2001:db9::", false),
        ("2001:db8::8/125", "2001:db8::f", true),
        ("2001:db8::8/125", "2001:db8::10", false),
        ("2001:db8::/64", "2001:db8::ffff:0:0:1", true),
        ("2001:db8::/64", "2001:db8:0:1::1", false),
        ("::/0", "2001:db8::1", true),
        ("::1", "::1", true),
        ("::1", "::2", false),
    ])
    func blocksContain(network: String, address: String, isInside: Bool) throws {
        let network = try #require(IPNetwork(network))
        #expect(network.contains(try #require(IPAddress(address))) == isInside)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.1/8", "::/129", "2001:db8::1/64",
        "ten/8",
    ])
    func invalidBlocksAreRefused(text: String) {
        #expect(IPNetwork(text) == nil)
    }

    @Test(arguments: [
        // Any client can send the field that names the client, so the field counts only if a
        // trusted peer sent it.
        Row("198.51.100.9", ["203.0.113.7"], "198.51.100.9"),
        Row("10.0.0.1", [], "10.0.0.1"),
        Row("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        Row("10.0.0.1", ["198.51.100.66, 203.0.113.7"], "203.0.113.7"),
        Row("10.0.0.1", ["198.51.100.66, 203.0.113.7, 10.0.0.2"], "203.0.113.7"),
        Row("10.0.0.1", ["203.0.113.7,10.0.0.3", "10.0.0.2"], "203.0.113.7"),
        Row("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        Row("10.0.0.1", ["203.0.113.7:4711"], "203.0.113.7"),
        Row("10.0.0.1", ["2001:db8::7"], "2001:db8::7"),
        Row("10.0.0.1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        Row("10.0.0.1", ["[2001:db8::7"], "unknown"),
        Row("10.0.0.1", ["203.0.113.7, secret"], "unknown"),
        Row("10.0.0.1", ["203.0.113.7,"], "unknown"),
        Row("10.0.0.1", [""], "unknown"),
        Row("unix", ["203.0.113.7"], "203.0.113.7"),
        Row("unknown", ["203.0.113.7"], "unknown"),
    ])
    func xForwardedForIsReadFromTheRight(row: Row) throws {
        #expect(try row.client(.xForwardedFor) == row.client)
    }

    @Test(arguments: [
        Row("10.0.0.1", ["for=203.0.113.7"], "203.0.113.7"),
        Row("10.0.0.1", ["proto=https; For=\"203.0.113.7:80\" ;by=10.0.0.1"], "203.0.113.7"),
        Row("10.0.0.1", ["for=\"[2001:db8::7]:4711\", for=10.0.0.2"], "2001:db8::7"),
        Row("10.0.0.1", ["for=198.51.100.66", "for=203.0.113.7"], "203.0.113.7"),
        Row("10.0.0.1", ["for=_hidden"], "unknown"),
        Row("10.0.0.1", ["for=unknown, for=10.0.0.2"], "unknown"),
        Row("10.0.0.1", ["proto=https"], "unknown"),
        Row("10.0.0.1", ["for"], "unknown"),
        Row("10.0.0.1", ["for=\""], "unknown"),
        Row("198.51.100.9", ["for=203.0.113.7"], "198.51.100.9"),
    ])
    func forwardedIsReadFromTheRight(row: Row) throws {
        #expect(try row.client(.forwarded) == row.client)
    }

    /// The address for which the server counts misuse; `nil` if all clients would share this
    /// address.
    @Test(arguments: [
        (Row("198.51.100.9", [], ""), "198.51.100.9"), (Row("10.0.0.1", ["203.0.113.7"], ""), "203.0.113.7"),
        (Row("2001:db8::1:2:3:4", [], ""), "2001:db8::"), (Row("10.0.0.1", ["2001:db8:0:1::7"], ""), "2001:db8:0:1::"),
        (Row("unix", ["203.0.113.7"], ""), "203.0.113.7"), (Row("10.0.0.1", [], ""), nil),
        (Row("10.0.0.1", ["10.0.0.2"], ""), nil), (Row("10.0.0.1", ["hidden"], ""), nil), (Row("unix", [], ""), nil),
        (Row("unknown", [], ""), nil), (Row("127.0.0.1", ["203.0.113.7"], ""), "127.0.0.1"),
    ])
    func unidentifiedClientHasNoOrigin(row: Row, origin: String?) throws {
        let request = try row.request(.xForwardedFor)
        #expect(request.origin?.description == origin)
    }

    @Test(arguments: [
        ("10.0.0.1", ["https"], HTTPScheme.https), ("10.0.0.1", ["HTTP"], .http), ("unix", ["https"], .https),
        ("198.51.100.9", ["https"], nil), ("unknown", ["https"], nil), ("10.0.0.1", [], nil),
        ("10.0.0.1", ["wss"], nil),
        ("10.0.0.1", [""], nil), ("10.0.0.1", ["https, https"], nil), ("10.0.0.1", ["http", "https"], nil),
    ])
    func schemeIsTakenFromATrustedProxyOnly(peer: String, values: [String], scheme: HTTPScheme?) throws {
        let row = Row(peer, values, "", name: "X-Forwarded-Proto")
        #expect(try row.request(.xForwardedFor).scheme == scheme)
        #expect(try row.request(.forwarded).scheme == nil, "the other field does not count")
    }

    @Test(arguments: [
        (["for=203.0.113.7;proto=https"], HTTPScheme.https), (["PROTO = \"https\" ;for=203.0.113.7"], .https),
        (["for=203.0.113.7;proto=https, for=10.0.0.2;proto=http"], .https),
        (["for=198.51.100.66;proto=https", "for=203.0.113.7;proto=http"], .http),
        (["for=203.0.113.7;proto=https;proto=http"], .https), (["for=203.0.113.7"], nil),
        (["for=203.0.113.7;proto=ftp"], nil), (["proto=https"], .https), ([], nil),
    ])
    func theSchemeIsInTheElementThatNamesTheClient(values: [String], scheme: HTTPScheme?) throws {
        #expect(try Row("10.0.0.1", values, "").request(.forwarded).scheme == scheme)
        #expect(try Row("198.51.100.9", values, "").request(.forwarded).scheme == nil)
    }

    @Test func tlsOfTheServersOwnIsCertain() throws {
        let head = try #require(RequestHead("GET / HTTP/1.1\r\nHost: h\r\nX-Forwarded-Proto: http\r\n\r\n"))
        let proxies = TrustedProxies(networks: [], includesUnix: true, field: .xForwardedFor)
        for (isEncrypted, scheme) in [(true, HTTPScheme.https), (false, .http)] {
            let request = Request(
                head: head,
                body: RequestBody([]),
                peer: .unix,
                loopIndex: 0,
                isEncrypted: isEncrypted,
                proxies: proxies
            )
            #expect(request.scheme == scheme)
        }
    }

    @Test func otherForwardingFieldIsIgnored() throws {
        let row = Row("10.0.0.1", ["203.0.113.7"], "10.0.0.1")
        #expect(try row.client(.xForwardedFor, sentAs: .forwarded) == row.client)
    }
}

/// A peer, the values of the proxy's field that the peer sends, and the client address that they
/// give if 10.0.0.0/8 and local sockets are trusted.
struct Row: Sendable {
    let peer: String
    let values: [String]
    let client: String
    /// The name of the field with `values`. `nil` means the field in which proxies name the
    /// client.
    let name: String?

    init(_ peer: String, _ values: [String], _ client: String, name: String? = nil) {
        self.peer = peer
        self.values = values
        self.client = client
        self.name = name
    }

    func client(_ field: TrustedProxies.Field, sentAs sent: TrustedProxies.Field? = nil) throws -> String {
        try self.request(field, sentAs: sent).client.description
    }

    func request(_ field: TrustedProxies.Field, sentAs sent: TrustedProxies.Field? = nil) throws -> Request {
        let name = self.name ?? (sent ?? field).rawValue
        let lines = self.values.map { "\(name): \($0)\r\n" }.joined()
        let head = try #require(RequestHead("GET / HTTP/1.1\r\nHost: h\r\n\(lines)\r\n"))
        let network = try #require(IPNetwork("10.0.0.0/8"))
        let proxies = TrustedProxies(networks: [network], includesUnix: true, field: field)
        let peer: PeerAddress =
            self.peer == "unix" ? .unix : IPAddress(self.peer).map { .ip($0) } ?? .unknown
        return Request(head: head, body: RequestBody([]), peer: peer, loopIndex: 0, proxies: proxies)
    }
}
