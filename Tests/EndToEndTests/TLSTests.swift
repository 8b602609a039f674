import Foundation
import PushSimulators
import PushTesting
import Reactor
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The daemon's TLS, used by curl and other programs that are not part of this project.
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
    private let files: TLSFolder

    init() throws {
        self.files = try TLSFolder()
        try self.files.writeServer("before")
        try self.files.configure()
    }

    @Test func aReloadDropsNoConnectionAndIsSeenByNewOnes() async throws {
        let daemon = try await self.files.start()
        #expect(try await self.certificate(of: daemon) == "before")
        let open = try self.openConnection(to: daemon)
        #expect(await open.output(until: "ready").contains("HTTP/1.1 200 OK"))

        try self.files.writeServer("after")
        daemon.process.signal(SIGHUP)
        #expect(await daemon.process.errors(until: "\n").contains("certificates reloaded"))
        #expect(try await self.certificate(of: daemon) == "after")

        try self.files.write("no PEM", to: "key.pem")
        daemon.process.signal(SIGHUP)
        let log = await daemon.process.errors(until: "\n")
        #expect(log.contains("certificate reload failed; the old certificates stay in use"), "\(log)")
        #expect(log.contains("server.tls.privateKey: key.pem contains no readable PEM private key"), "\(log)")
        #expect(try await self.certificate(of: daemon) == "after")

        _ = try await self.files.shell(": > go").end()
        let ended = await open.end()
        #expect(ended.output.contains("HTTP/1.1 200 OK"), "\(ended)")
        #expect(ended.output.contains("Connection: close"))
        #expect(await daemon.terminate() == 0)
    }

    /// Returns the common name of the certificate that a new connection gets.
    private func certificate(of daemon: Daemon) async throws -> String? {
        let ended = try await self.files.curl("https://127.0.0.1:\(daemon.port)/readyz")
        #expect(ended.code == 0, "\(ended.errors)")
        return ended.errors.firstMatch(of: /subject: CN=(\w+)/).map { String($0.output.1) }
    }

    /// Opens a connection that sends one request immediately, and a second request when the test
    /// opens the pipe `go`.
    private func openConnection(to daemon: Daemon) throws -> ChildProcess {
        try self.files.shell(
            """
            mkfifo go
            { printf 'GET /readyz HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n'
              cat go
              printf 'GET /readyz HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n'
            } | openssl s_client -quiet -verify_return_error -CAfile ca.pem -connect 127.0.0.1:\(daemon.port)
            """
        )
    }

    @Test func aReloadWithoutTLSIsHarmless() async throws {
        // The folder must exist until the end, because the daemon runs in it.
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let daemon = try await Daemon(in: folder)
        daemon.process.signal(SIGHUP)
        let health = try #require(URL(string: "/healthz", relativeTo: daemon.server))
        let (_, response) = try await URLSession.shared.data(from: health)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(await daemon.terminate() == 0)
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func opensslResumesItsSession(version: String) async throws {
        let daemon = try await self.files.start()
        let request = "printf 'GET /healthz HTTP/1.1\\r\\nHost: h\\r\\nConnection: close\\r\\n\\r\\n'"
        let client = "openssl s_client -ign_eof \(version) -alpn http/1.1 -connect 127.0.0.1:\(daemon.port)"
        let first = try await self.files.shell("\(request) | \(client) -sess_out session").end()
        #expect(first.output.contains("New, TLSv1."), "\(first)")
        #expect(first.output.contains("ALPN protocol: http/1.1"))
        #expect(version == "-tls1_2" || first.output.contains("Max Early Data: 0"))
        let second = try await self.files.shell("\(request) | \(client) -sess_in session").end()
        #expect(second.output.contains("Reused, TLSv1."), "\(second)")
        #expect(second.output.contains("HTTP/1.1 200 OK"))
        #expect(await daemon.terminate() == 0)
    }

    @Test func theLinesOfTheFirstDayWorkAsPasted() async throws {
        let text = try Repository.text(of: "docs/first-day.md")
        let block = try #require(text.firstMatch(of: /<!-- TLS -->\n```bash\n((?s).*?)```/)).output.1
        // The commands of the documentation need a port in advance. This port was free a moment
        // ago.
        guard case .tcp(_, let port) = try Listener(.tcp(host: "127.0.0.1", port: 0)).address else { return }
        let folderOfExecutable = URL(fileURLWithPath: Daemon.executable).deletingLastPathComponent().path
        let ended = try await ChildProcess(
            "/bin/bash",
            ["-c", "set -e\n\(block.replacing("8080", with: "\(port)"))\nkill %1\nwait %1\n"],
            in: self.files.folder.path,
            environment: [
                "PATH": "\(folderOfExecutable):/usr/bin:/bin", "SEALPOST_SERVER_LISTEN": "127.0.0.1:\(port)",
            ]
        ).end()
        #expect(ended.code == 0, "\(ended.errors)")
        #expect(ended.output.contains(#"{"Status":"ready"}"#))
    }

    @Test func aNotificationIsSentAndCollectedOverTLS() async throws {
        try await self.addUser("alice")
        let daemon = try await self.files.start()
        let server = "https://127.0.0.1:\(daemon.port)/api/notifications"
        let user = ["--user", "alice:\(Stack.password)"]
        let sent = try await self.files.curl(user[0], user[1], "--data", "\"over TLS\"", server)
        #expect(sent.code == 0, "\(sent.errors)")
        let id = try #require(sent.output.firstMatch(of: /"Id":(\d+)/)).output.1
        let collected = try await self.files.curl(user[0], user[1], "--header", "MyToken: 1000", "\(server)/\(id)")
        #expect(collected.output.contains(#""Payload":"over TLS""#))
        #expect(collected.errors.contains("MyToken: 17003"))
        let plain = try await self.files.curl("http://127.0.0.1:\(daemon.port)/healthz")
        #expect(plain.errors.contains("400 Bad Request"))
        #expect(await daemon.terminate() == 0)
    }

    @Test func aClientCertificateSignsItsUserIn() async throws {
        try self.files.configure("{certificate: cert.pem, privateKey: key.pem, clientCA: ca.pem}")
        for name in ["alice", "nobody"] {
            try self.files.write(self.files.authority.makeClientIdentity(name), as: ("\(name).pem", "\(name).key"))
        }
        let stranger = try TestAuthority(name: "Another").makeClientIdentity("alice")
        try self.files.write(stranger, as: ("stranger.pem", "stranger.key"))
        try await self.addUser("alice")
        let daemon = try await self.files.start()
        let server = "https://127.0.0.1:\(daemon.port)/api/register"
        for (name, status) in [("alice", "200 OK"), ("nobody", "401 Unauthorized"), ("stranger", "unknown ca")] {
            let answer = try await self.files.curl("--cert", "\(name).pem", "--key", "\(name).key", server)
            #expect(answer.errors.contains(status), "\(name): \(answer.errors)")
        }
        #expect(try await self.files.curl(server).errors.contains("401 Unauthorized"))
        #expect(await daemon.terminate() == 0)
    }

    @Test func aRevokedCertificateIsRefusedAfterTheNextSIGHUP() async throws {
        let authority = self.files.authority
        let identity = try authority.makeClientIdentity("alice")
        try self.files.write(identity, as: ("alice.pem", "alice.key"))
        try self.files.write(authority.makeRevocationList(), to: "revoked.pem")
        try self.files.configure(
            "{certificate: cert.pem, privateKey: key.pem, clientCA: ca.pem, clientCRL: revoked.pem}"
        )
        try await self.addUser("alice")
        let daemon = try await self.files.start()
        let server = "https://127.0.0.1:\(daemon.port)/api/register"
        let before = try await self.files.curl("--cert", "alice.pem", "--key", "alice.key", server)
        #expect(before.errors.contains("200 OK"), "\(before.errors)")
        try self.files.write(authority.makeRevocationList(of: [identity]), to: "revoked.pem")
        daemon.process.signal(SIGHUP)
        _ = await daemon.process.errors(until: "certificates reloaded")
        let after = try await self.files.curl("--cert", "alice.pem", "--key", "alice.key", server)
        #expect(after.errors.contains("certificate revoked"), "\(after.errors)")
        #expect(await daemon.terminate() == 0)
    }

    private func addUser(_ name: String) async throws {
        let arguments = ["user", "add", name, "--password-stdin"]
        let ended = try await Daemon.run(arguments, in: self.files.folder, input: Stack.password)
        #expect(ended.code == 0)
    }
}
