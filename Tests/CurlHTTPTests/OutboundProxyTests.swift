import CurlHTTP
import Testing

/// Calls through a proxy; `scripts/e2e run egress` tests calls through a real proxy.
@Suite(.timeLimit(.minutes(5))) struct OutboundProxyTests {
    private static let tunnel = "HTTP/1.1 200 Connection established\r\nX-Of-The-Proxy: 1\r\n\r\n"
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

    private static func call(_ exchange: Exchange) async -> Result<OutboundResponse, OutboundError> {
        do throws(OutboundError) {
            // No resolver knows this name: resolving it is the proxy's task.
            guard let url = OutboundURL("http://push.invalid:8443/a") else { throw .badRequest("test") }
            return .success(try await exchange.client.send(OutboundRequest(.get, url, timeout: .seconds(5))))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [nil, "name:pass:wörd%3a"])
    func aCallGoesThroughATunnelToItsHost(credentials: String?) async throws {
        let (response, requests) = try await withPeer(
            .inTurn([Self.tunnel, Self.ok]),
            asProxy: true,
            credentials: credentials
        ) { exchange in
            let response = try await Self.call(exchange).get()
            return (response, [await exchange.requestText(), await exchange.requestText()].compactMap(\.self))
        }
        #expect(response.body == Array("hi".utf8))
        #expect(response.header("x-of-the-proxy") == nil)
        #expect(requests.first?.hasPrefix("CONNECT push.invalid:8443 HTTP/1.1\r\n") == true)
        let basic = "Proxy-Authorization: Basic bmFtZTpwYXNzOnfDtnJkJTNh\r\n"
        #expect(requests.first?.contains(basic) == (credentials != nil))
        #expect(requests.last?.hasPrefix("GET /a HTTP/1.1\r\nHost: push.invalid:8443\r\n") == true)
        #expect(requests.last?.contains("Proxy-") == false)
    }

    @Test(arguments: [403, 407, 502])
    func refusalOfTheProxyIsReportedAndNotRetried(status: Int) async throws {
        let reply = Reply.each("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        let (failure, count) = try await withPeer(reply, asProxy: true) { exchange in
            let failure = await Self.call(exchange).failure
            var count = 0
            while count < 1, await exchange.requestText() != nil { count += 1 }
            return (failure, count)
        }
        #expect(failure == .couldNotConnect("the proxy refuses the tunnel with \(status)"))
        #expect(count == 1)
    }

    @Test func theProxysAddressIsSubjectToThePolicy() async throws {
        var settings = HTTPClientSettings.loopback
        settings.addresses = .globalOnly
        let failure = try await withPeer(.silence, settings, asProxy: true) { await Self.call($0).failure }
        #expect(failure == .refusedAddress)
    }

    @Test(arguments: [
        ("http://proxy:3128", nil, true), ("https://proxy:3128/", "a:b", true), ("http://proxy", "a:", true),
        ("http://proxy/path", nil, false), ("http://proxy?x", nil, false), ("http://proxy", "a", false),
        ("http://proxy", ":b", false), ("http://proxy", "a:b\nc", false),
    ])
    func proxyIsAnAddressWithOptionalCredentials(url: String, credentials: String?, isOne: Bool) throws {
        let url = try #require(OutboundURL(url))
        #expect((OutboundProxy(url, credentials: credentials) != nil) == isOne)
    }

    @Test func theCredentialsAreNeverPrinted() throws {
        let proxy = OutboundProxy(try #require(OutboundURL("http://proxy:1")), credentials: "name:hunter2")
        var settings = HTTPClientSettings()
        settings.proxy = proxy
        var text = "\(settings) \(String(reflecting: proxy))"
        dump(settings, to: &text)
        #expect(!text.contains("hunter2"))
    }
}
