import CurlHTTP
import Foundation
import PushCore
import PushSenders
import Reactor
import Testing

/// The server must never call an address of its own network, whatever endpoint a device names.
@Suite(.timeLimit(.minutes(5))) struct HostileEndpointTests {
    private static let count = 10_000

    @Test func hostileEndpointsAreRefusedAtRegistration() throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let key = try VAPIDKey(Secret(VAPIDKey.generateText()))
        let sender = try WebPushSender(WebPushSettings(key: key, subject: "mailto:ops@example.com"), on: loop)
        let keys = #""keys":{"p256dh":"\#(key.publicText)","auth":"AAAAAAAAAAAAAAAAAAAAAA"}"#
        func isTaken(_ endpoint: String) throws -> Bool {
            let text = String(decoding: try JSONEncoder().encode(endpoint), as: UTF8.self)
            return sender.handles.takes(#"{"endpoint":\#(text),\#(keys)}"#)
        }
        #expect(try isTaken("https://fcm.googleapis.com/x"), "what is right is taken")
        var endpoints = HostileEndpoints(seed: 8030)
        for _ in 0..<Self.count {
            let endpoint = endpoints.endpoint()
            #expect(!(try isTaken(endpoint)), "\(endpoint.debugDescription)")
        }
    }

    /// The test skips the check at registration. The client must also check the address when it
    /// opens the socket, however libcurl and libc read the spelling.
    @Test func hostileEndpointsAreRefusedWhenCalled() async throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let client = try HTTPClient(
            HTTPClientSettings { ($0.maximumCalls, $0.addresses) = (64, .globalOnly) },
            on: loop
        )
        var endpoints = HostileEndpoints(seed: 8292)
        var refused = 0
        for _ in 0..<Self.count {
            let host = endpoints.host()
            // The server does not call a URL that its parser refuses. Digits with a dot after them
            // are a name, which the client would resolve by DNS.
            guard let url = OutboundURL("https://\(host)/"), !host.hasSuffix(".") else { continue }
            switch await Self.outcome(of: url, by: client) {
            case .refusedAddress: refused += 1
            // libcurl refuses some spellings that the server's parser accepts.
            case .badRequest: break
            case let outcome: Issue.record("\(host): \(String(describing: outcome))")
            }
        }
        await client.close()
        #expect(refused > Self.count / 2)
    }

    /// A control for the test above: if the loopback address is allowed, the same spellings lead
    /// to a connection.
    @Test func theSameSpellingsReachAnAllowedLoopback() async throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let listener = try Listener(.tcp(host: "127.0.0.1", port: 0))
        guard case .tcp(_, let port) = listener.address else {
            Issue.record("not TCP")
            return
        }
        let client = try HTTPClient(HTTPClientSettings { $0.addresses = .any }, on: loop)
        for host in ["127.0.0.1", "2130706433", "0x7f000001", "017700000001", "0x7f.0.0.1", "0177.0.0.01", "127.1"] {
            let url = try #require(OutboundURL("https://\(host):\(port)/"))
            // Nobody accepts the connection from the listener, so the client connects and then
            // waits for an answer.
            #expect(await Self.outcome(of: url, by: client, within: .milliseconds(300)) == .timedOut, "\(host)")
        }
        await client.close()
    }

    private static func outcome(
        of url: OutboundURL,
        by client: HTTPClient,
        within time: Duration = .seconds(10)
    ) async -> OutboundError? {
        do throws(OutboundError) {
            _ = try await client.send(OutboundRequest(.post, url, timeout: time))
            return nil
        } catch {
            return error
        }
    }
}
