import Foundation
import PushTesting
import Testing

/// Header fields that browsers obey, as a client receives them through the proxies of `config/`
/// and over the server's own TLS. `scripts/e2e run browsers` tests real browsers.
@Suite(.timeLimit(.minutes(5))) struct BrowserTests {
    private static let settings = ["SERVER_ALLOWEDORIGINS": "[https://app.example]"]

    @Test(arguments: Site.Way.all)
    func aCrossSiteRequestIsRefusedBehindAProxy(way: Site.Way) async throws {
        _ = try await Site.run([Site.Layer(proxy: way.proxy)], way.link, settings: Self.settings) { site in
            let foreign = "Sec-Fetch-Site: cross-site"
            let posted = try await site.curl(
                "/api/notifications",
                "--data",
                #""forged""#,
                "--header",
                foreign,
                "--header",
                "Origin: https://evil.example",
                "--header",
                "MyToken: 1"
            )
            #expect(posted.status == 403)
            #expect(posted.body.contains("urn:sealpost:problem:cross-origin"), "\(posted.body)")
            #expect(posted.values("MyToken") == ["20"])
            #expect(try await site.curl("/api/notifications", "--header", foreign).status == 403)
            let list = try await site.curl("/api/notifications")
            #expect(list.body.contains(#""Notifications":[]"#), "\(list.body)")
            for name in ["Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer"] {
                #expect(list.values(name.key) == [name.value])
            }
            #expect(list.values("Strict-Transport-Security") == [])

            // By `Sec-Fetch-Site`, the browser states that the page belongs to the server. This
            // statement counts even if a proxy has changed `Host`.
            let own = try await site.curl(
                "/api/notifications",
                "--data",
                #""real""#,
                "--header",
                "Origin: https://push.example:8443",
                "--header",
                "Sec-Fetch-Site: same-origin"
            )
            #expect(own.status == 200, "\(own.body)")
        }
    }

    @Test(arguments: Site.Way.all)
    func anAllowedOriginIsAnsweredBehindAProxy(way: Site.Way) async throws {
        _ = try await Site.run([Site.Layer(proxy: way.proxy)], way.link, settings: Self.settings) { site in
            let origin = "Origin: https://app.example"
            let preflight = try await site.curl(
                "/api/notifications",
                as: "",
                "--request",
                "OPTIONS",
                "--header",
                origin,
                "--header",
                "Access-Control-Request-Method: POST",
                "--header",
                "Access-Control-Request-Headers: authorization,content-type,mytoken"
            )
            #expect(preflight.status == 204)
            #expect(preflight.values("Access-Control-Allow-Origin") == ["https://app.example"])
            #expect(preflight.values("Access-Control-Allow-Methods") == ["POST, GET, HEAD"])
            let posted = try await site.curl(
                "/api/notifications",
                "--data",
                #""a secret""#,
                "--header",
                origin,
                "--header",
                "Sec-Fetch-Site: cross-site"
            )
            #expect(posted.status == 200, "\(posted.body)")
            #expect(posted.values("Access-Control-Allow-Origin") == ["https://app.example"])
            let id = try #require(posted.body.firstMatch(of: /"Id":(\d+)/)).output.1
            let fetched = try await site.curl("/api/notifications/\(id)", "--header", origin)
            #expect(fetched.values("Vary").joined(separator: ", ").contains("Origin"))
            #expect(fetched.values("Access-Control-Expose-Headers").first?.hasPrefix("MyToken, ") == true)
        }
    }

    @Test(arguments: [(", hsts: 31536000", "strict-transport-security: max-age=31536000"), ("", nil)])
    func theServersOwnTLSSendsHSTSOnlyIfConfigured(hsts: String, line: String?) async throws {
        let files = try TLSFolder()
        try files.writeServer("server")
        try files.configure("{certificate: cert.pem, privateKey: key.pem\(hsts)}")
        let socket = files.folder.file("http.sock")
        let daemon = try await Daemon(
            in: files.folder,
            arguments: ["--config", "sealpost.yaml"],
            settings: ["SERVER_LISTEN": "[127.0.0.1:0, 'unix:\(socket)']"]
        )
        let encrypted = try await files.curl("https://127.0.0.1:\(daemon.port)/healthz", "--include")
        let lines = encrypted.output.lowercased().split(separator: "\r\n").map(String.init)
        #expect(lines.filter { $0.hasPrefix("strict-transport-security") } == (line.map { [$0] } ?? []))
        // Over plain HTTP, the server must not send `Strict-Transport-Security` (RFC 6797 section
        // 7.2).
        let clear = try await files.curl("http://h/healthz", "--include", "--unix-socket", socket)
        #expect(clear.output.hasPrefix("HTTP/1.1 200 "), "\(clear)")
        #expect(!clear.output.lowercased().contains("strict-transport-security"))
        #expect(await daemon.terminate() == 0)
    }
}
