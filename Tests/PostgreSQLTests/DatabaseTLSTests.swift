import Foundation
import PostgreSQL
import PushSimulators
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct DatabaseTLSTests {
    /// A user, a host and options by which a client reaches the server, and words of the expected
    /// error; `error` is `nil` if no error is expected.
    struct Case: CustomTestStringConvertible {
        let user: String
        let host: String
        let options: String
        let error: String?

        init(_ host: String, _ options: String, as user: String = "postgres", _ error: String? = nil) {
            (self.user, self.host, self.options, self.error) = (user, host, options, error)
        }

        var testDescription: String { "\(self.user)@\(self.host) \(self.options)" }
    }

    /// `<ours>` stands for a file with the authority of the server's certificate, and `<others>`
    /// for one with another authority. The certificate is for localhost.
    private static let full = "sslmode=verify-full&sslrootcert=<ours>"
    private static let cases = [
        Case("localhost", full),
        Case("localhost", "sslmode=verify-full&sslrootcert=<others>", "certificate verify failed"),
        Case("127.0.0.1", full, "does not match host name"),
        Case("127.0.0.1", "sslmode=verify-ca&sslrootcert=<ours>"),
        Case("127.0.0.1", "sslmode=verify-ca&sslrootcert=<others>", "certificate verify failed"),
        Case("127.0.0.1", "sslmode=require"),
        Case("127.0.0.1", "sslmode=disable", "no encryption"),
        Case("localhost", "sslmode=verify-full&sslrootcert=<folder>/nothing.pem", "nothing.pem"),
        Case("localhost", "\(full)&sslcert=<certificate>&sslkey=<key>", as: "certified"),
        Case("localhost", full, as: "certified", "certificate"),
        Case("localhost", "\(full)&sslcert=<foreign>&sslkey=<foreign key>", as: "certified", "unknown ca"),
    ]

    @Test func serverAndClientAreVerifiedAsConfigured() async throws {
        let folder = try TemporaryFolder()
        let (authority, other) = (try TestAuthority(), try TestAuthority(name: "Another authority"))
        let files = ["ours", "others", "certificate", "key", "foreign", "foreign key"]
        try authority.write(to: folder.file("ours"))
        try other.write(to: folder.file("others"))
        for (issuer, name, key) in [(authority, "certificate", "key"), (other, "foreign", "foreign key")] {
            let identity = try issuer.makeClientIdentity("certified")
            try folder.writeSecret(identity.certificate, to: name)
            try folder.writeSecret(identity.privateKey, to: key)
        }
        let server = try await TLSDatabase(authority)
        func address(_ one: Case) throws -> DatabaseAddress {
            let options = files.reduce(one.options.replacing("<folder>", with: folder.path)) { options, file in
                options.replacing("<\(file)>", with: folder.file(file).replacing(" ", with: "%20"))
            }
            return try DatabaseAddress("postgres://\(one.user)@\(one.host):\(server.port)/postgres?\(options)")
        }
        let owner = try BlockingConnection(address(Self.cases[0]))
        try owner.execute("create role certified superuser login")
        for one in Self.cases { try await self.check(one, at: address(one)) }

        // If the server has no TLS, a client that requires TLS must not connect, and must not fall
        // back to plain text.
        try owner.execute("alter system set ssl = off")
        _ = try owner.query("select pg_reload_conf()")
        let required = Case("127.0.0.1", "sslmode=require", "does not support SSL")
        try await eventually { (try? BlockingConnection(address(required))) == nil }
        try await self.check(required, at: address(required))
    }

    /// Sends a query over a blocking connection, and over a connection of a pool.
    private func check(_ one: Case, at address: DatabaseAddress) async throws {
        let isEncrypted = "select ssl from pg_stat_ssl where pid = pg_backend_pid()"
        let blocking = await failure {
            let rows = try BlockingConnection(address).query(isEncrypted)
            #expect(try rows[0].boolean(0), "\(one.testDescription)")
        }
        let text = blocking?.description
        let isDue = one.error.map { text?.contains($0) == true } ?? (text == nil)
        #expect(isDue, "\(one.testDescription): \(text ?? "-")")
        if let words = one.error {
            try await withPool("", .shortTimeouts, at: { _ in address }) { try await $0.expectUnavailable(words) }
        } else {
            try await withPool(at: { _ in address }) { fixture in
                let rows = try await fixture.pool.query(isEncrypted)
                #expect(try rows[0].boolean(0), "\(one.testDescription)")
            }
        }
    }
}
