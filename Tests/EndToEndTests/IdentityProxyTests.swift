import Foundation
import PushTesting
import Testing

/// Callers whom a real nginx authenticates. nginx runs with its file in `config/`.
@Suite(.timeLimit(.minutes(5))) struct IdentityProxyTests {
    private static let password = "of the proxy"

    /// Runs nginx with `users` in front of a daemon. The daemon trusts only the socket between
    /// the two, and has an administrator `root`.
    private func withProxy(_ users: [String], _ body: (Site) async throws -> Void) async throws {
        _ = try await Site.run(
            [Site.Layer(proxy: .nginx, file: "../config/nginx-identity.conf")],
            .unix,
            settings: ["SERVER_TRUSTEDPROXIES": "[unix]", "SERVER_IDENTITYHEADER": "X-Remote-User"],
            prepare: { folder in
                let lines = users.map { "\($0):{PLAIN}\(Self.password)\n" }.joined()
                try lines.write(toFile: folder.file("htpasswd"), atomically: true, encoding: .utf8)
                let arguments = ["user", "add", "root", "--role", "admin", "--password-stdin"]
                _ = try await Daemon.run(arguments, in: folder, input: Stack.password)
            },
            body
        )
    }

    @Test(arguments: ["alice", "alice@EXAMPLE.COM", "EXAMPLE\\alice"])
    func aUserAuthenticatedByTheProxySendsAndFetches(name: String) async throws {
        try await self.withProxy([name]) { site in
            let posted = try await site.curl(
                "/api/notifications",
                as: name,
                password: Self.password,
                port: nil,
                "--data",
                #""a secret""#,
                "--header",
                "MyToken: 1"
            )
            #expect(posted.status == 200)
            #expect(posted.values("MyToken") == ["20"])
            let id = try #require(posted.body.firstMatch(of: /"Id":(\d+)/)).output.1
            let fetched = try await site.curl("/api/notifications/\(id)", as: name, password: Self.password)
            #expect(fetched.body.contains(#""Payload":"a secret""#))
        }
    }

    @Test(arguments: ["nobody", "Alice", "alice@ELSEWHERE.COM", "ELSEWHERE\\alice", "EXAMPLE\\alice@EXAMPLE.COM"])
    func aUserKnownOnlyToTheProxyIsRefused(name: String) async throws {
        try await self.withProxy([name]) { site in
            let answer = try await site.curl("/api/register", as: name, password: Self.password)
            #expect(answer.status == 401)
            #expect(answer.values("Content-Type") == ["application/problem+json"], "Sealpost's own words")
        }
    }

    @Test func theProxyOverwritesTheClientsIdentityHeader() async throws {
        try await self.withProxy(["alice", "nobody"]) { site in
            for name in ["alice", "nobody"] {
                let header = ["X-Remote-User: \(name == "alice" ? "nobody" : "alice")", "x-remote-user: alice"]
                let answer = try await site.curl(
                    "/api/register",
                    as: name,
                    password: Self.password,
                    port: nil,
                    "--header",
                    header[0],
                    "--header",
                    header[1]
                )
                #expect(answer.status == (name == "alice" ? 200 : 401), "\(name)")
            }
            // The request has alice's password at the daemon. The proxy does not know this
            // password, and refuses the request itself.
            #expect(try await site.curl("/api/register").values("Content-Type") == ["text/html"])
        }
    }

    @Test func anIdentityHeaderSentDirectlyIsIgnoredAndCounted() async throws {
        try await self.withProxy(["alice", "root"]) { site in
            for name in ["alice", "root"] {
                let answer = try await site.curl(
                    "/api/register",
                    as: "",
                    port: site.daemon.port,
                    "--header",
                    "X-Remote-User: \(name)"
                )
                #expect(answer.status == 401)
                #expect(answer.values("WWW-Authenticate").first == #"Basic realm="sealpost", charset="UTF-8""#)
            }
            let own = try await site.curl(
                "/api/register",
                as: "alice",
                port: site.daemon.port,
                "--header",
                "X-Remote-User: root"
            )
            #expect(own.status == 200, "with her own password")
            let metrics = try await site.curl("/metrics", as: "root", password: Self.password)
            #expect(metrics.body.contains("\nsealpost_identity_header_ignored_total 3\n"), "\(metrics.body)")
        }
    }
}
