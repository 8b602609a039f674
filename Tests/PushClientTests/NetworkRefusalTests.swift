import ClientPeers
import Cryptography
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests how the client on Linux reports proxies that require credentials, and captive portals
/// with a certificate of their own.
///
/// On Apple's systems a proxy's refusal is a CFNetwork error, 306 to 311, and the system handles
/// its challenge (`ErrorAdviceTests`, `ChallengeTests`). The refusal of a certificate is the same
/// interference on all systems.
@Suite(.timeLimit(.minutes(5))) struct NetworkRefusalTests {
    private static func refusal(_ request: PeerRequest) -> PeerAnswer {
        let challenge = (name: "Proxy-Authenticate", value: #"Basic realm="the office""#)
        return PeerAnswer(
            status: 407,
            fields: [challenge, (name: "Content-Type", value: "text/html")],
            body: "<h1>Proxy</h1>"
        )
    }

    /// Starts a process whose environment names the proxy, because libcurl reads the proxy from
    /// there.
    private func advice(for server: String, throughProxy proxy: URL) async throws -> String {
        let folder = try TemporaryFolder()
        let address = "\(proxy)"
        let program = try ChildProcess.clientProgram(
            ["advise", server, folder.file("store")],
            environment: ["http_proxy": address, "https_proxy": address]
        )
        let ended = await program.end()
        #expect(ended.code == 0, "\(ended.errors)")
        return ended.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The request has not reached the server.
    @Test func aProxyThatRefusesTheTunnelAnswersInTheServersPlace() async throws {
        try await ScriptedPeer.run({ request, _ in .answer(Self.refusal(request)) }) { peer async throws in
            #expect(try await self.advice(for: "https://push.example", throughProxy: peer.url) == "proxy")
            #expect(!peer.requests.isEmpty)
            #expect(peer.requests.allSatisfy { $0.method == "CONNECT" && $0.fields["authorization"] == nil })
        }
    }

    /// For an `http` request, the proxy's page replaces the server's answer. It lacks the echo of
    /// `MyToken`.
    @Test func aProxyThatRefusesARequestInClearAnswersInTheServersPlace() async throws {
        try await ScriptedPeer.run({ request, _ in .answer(Self.refusal(request)) }) { peer async throws in
            #expect(try await self.advice(for: "http://push.example", throughProxy: peer.url) == "proxy")
            #expect(peer.requests.allSatisfy { $0.fields["proxy-authorization"] == nil })
        }
    }

    @Test func aPortalWithItsOwnCertificateIsRefused() async throws {
        let folder = try TemporaryFolder()
        let made = try await ChildProcess(
            "/bin/sh",
            [
                "-c",
                """
                openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=portal \
                    -addext subjectAltName=IP:127.0.0.1
                """,
            ],
            in: folder.path,
            environment: ["PATH": "/usr/bin:/bin"]
        ).end()
        try #require(made.code == 0, "\(made.errors)")
        // The held socket is closed immediately, so the portal can listen on its port.
        let port = try HeldSocket().port
        let portal = try ChildProcess(
            "/usr/bin/openssl",
            ["s_server", "-accept", "127.0.0.1:\(port)", "-cert", "cert.pem", "-key", "key.pem", "-www"],
            in: folder.path
        )
        _ = await portal.output(until: "ACCEPT")
        let server = try #require(URL(string: "https://127.0.0.1:\(port)"))
        let client = PushClient(server: server, credentials: .token("t", account: "alice"), options: .init(testing: []))
        let error = await #expect(throws: PushClientError.self) { try await client.notification(7) }
        #expect(error.flatMap { PushClient.Advice(for: $0) } == .pin, "\(String(describing: error))")
        var found: Interference?
        if case .interference(let interference) = error { found = interference }
        #expect(found?.kind == .untrustedKey)
        portal.signal(SIGKILL)
        _ = await portal.errors(until: "\n")
    }
}
