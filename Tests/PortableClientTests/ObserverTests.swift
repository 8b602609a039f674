import ClientPeers
import Foundation
import PushAPI
import PushClient
import PushClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests the hooks for an app's logs and counters: the events about requests, and the fields that
/// the app adds to a request.
@Suite(.timeLimit(.minutes(5))) struct ObserverTests {
    private let server = TestServer()
    private let events = Locked<[ClientEvent]>([])

    private var client: PushClient {
        var options = self.server.options
        options.observe = { [events] event in events.withLock { $0.append(event) } }
        return self.server.client(options: options)
    }

    private var lines: [String] {
        self.events.withLock { events in
            events.map { "\($0.method) \($0.route) \($0.status.map(String.init) ?? "-") \($0.outcome)" }
        }
    }

    @Test func eachRequestIsObservedOnceWithoutIds() async throws {
        let id = self.server.add("secret")
        let client = self.client
        try await client.register(platform: "apns", handle: "handle")
        _ = try await client.notification(id)
        try await client.dismiss(id)
        _ = try? await client.notification(id)
        try await client.setDeviceKey("text", of: #require(client.registrationID))
        #expect(
            self.lines == [
                "POST /api/register 200 answered", "PUT /api/register/{id} 200 answered",
                "GET /api/notifications/{id} 200 answered", "DELETE /api/notifications/{id} 204 answered",
                "GET /api/notifications/{id} 404 answered", "PUT /api/devices/{id}/key 204 answered",
            ]
        )
        let text = self.events.withLock { "\($0)" }
        #expect(!text.contains("secret") && !text.contains("handle") && !text.contains("spt_"))
    }

    @Test(arguments: [
        (TestServer.Network.offline, "- offline"), (.captivePortal, "200 missingEcho"), (.changed, "404 signature"),
    ])
    func aFailureIsObservedWithItsKind(network: TestServer.Network, outcome: String) async {
        self.server.network = network
        _ = try? await self.client.notification(7)
        #expect(self.lines.first == "GET /api/notifications/{id} \(outcome)")
    }

    @Test func anAppAddsFieldsButReplacesNoneOfTheClient() async {
        let (routes, sent) = (Locked<[String]>([]), Locked<[String: String]>([:]))
        var options = self.server.options
        options.headers = { method, route in
            routes.withLock { $0.append("\(method) \(route)") }
            return [
                "traceparent": "00-1", "authorization": "Bearer other", "MYTOKEN": "1", "If-None-Match": "\"1\"",
                "Accept-Signature": "sig=()", "Content-Length": "3", "host": "other", "Transfer-Encoding": "chunked",
                "Connection": "close", "Expect": "100-continue", "TE": "trailers", "upgrade": "h2c",
            ]
        }
        options.exchange = { request, _ in
            sent.withLock { sent in
                for (name, value) in request.allHTTPHeaderFields ?? [:] { sent[name.lowercased()] = value }
            }
            throw URLError(.notConnectedToInternet)
        }
        _ = try? await self.server.client(options: options).notification(7)
        #expect(routes.withLock { $0 } == ["GET /api/notifications/{id}"])
        let fields = sent.withLock { $0 }
        #expect(fields["traceparent"] == "00-1")
        #expect(fields["authorization"] == "Bearer spt_alice")
        #expect(fields["mytoken"] != nil && fields["mytoken"] != "1")
        #expect(fields["accept-signature"]?.contains("keyid") == true)
        for name in [
            "if-none-match", "content-length", "host", "transfer-encoding", "connection", "expect", "te", "upgrade",
        ] {
            #expect(fields[name] == nil, "\(name)")
        }
    }

    @Test(arguments: [
        ("", "1"), ("Bad Name", "1"), ("X-ä", "1"), ("X:", "1"), ("X-1", "a\r\nY: b"), ("X-1", "ä"),
        ("Bad\nName", "1"), ("X-1", "a\u{7F}"),
    ])
    func aMalformedFieldOfTheAppIsRefused(name: String, value: String) async {
        var options = self.server.options
        options.headers = { _, _ in [name: value] }
        let client = self.server.client(options: options)
        let error = PushClientError.invalidValue("headers: the field \(name.debugDescription) is malformed")
        await #expect(throws: error) { try await client.dismiss(7) }
        #expect(self.server.requests.isEmpty)
    }

    @Test func aFieldOfTheAppMayHaveATab() async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, status: 204)) }) { peer in
            var options = peer.options()
            options.headers = { _, _ in ["X!#$%&'*+-.^_`|~1": "a\tb ~"] }
            try await peer.client(options: options).dismiss(7)
            #expect(peer.requests.map { $0.fields["x!#$%&'*+-.^_`|~1"] } == ["a\tb ~"])
        }
    }
}
