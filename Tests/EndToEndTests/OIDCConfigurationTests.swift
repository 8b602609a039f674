import Foundation
import PushCore
import PushServer
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// The section `signIn.oidc` of the configuration.
@Suite(.timeLimit(.minutes(5))) struct OIDCConfigurationTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func load(_ yaml: String, environment: [String: String] = [:]) throws -> Configuration.OIDC? {
        let file = self.folder.file("sealpost.yaml")
        try "signIn: {oidc: \(yaml)}".write(toFile: file, atomically: true, encoding: .utf8)
        return try Configuration.load(file: file, environment: environment).oidc
    }

    @Test func aNullIssuerDisablesOIDC() throws {
        #expect(try self.load("{issuer: null, audience: sealpost, users: created}") == nil)
    }

    @Test func theDefaultsAreStrict() throws {
        let oidc = try #require(try self.load("{issuer: 'https://id.example.com/realm', audience: sealpost}"))
        #expect(!oidc.isDirect)
        let rules = oidc.rules
        #expect(rules.issuer == "https://id.example.com/realm" && rules.audiences == ["sealpost"])
        #expect(rules.algorithms == Set(TokenAlgorithm.allCases) && rules.nameClaim == "sub")
        #expect(!rules.createsUsers && !rules.includesPasswordUsers && !rules.allowsSessions)
        #expect(rules.roles == nil && rules.appsClaim == nil && rules.scopes == nil && rules.authorizedParties.isEmpty)
        #expect(rules.formerIssuers.isEmpty && rules.audienceClaim == nil)
    }

    @Test func everyKeyIsRead() throws {
        let oidc = try self.load(
            """
            {issuer: 'http://127.0.0.1:9/', audience: [a, b], algorithms: [EdDSA], authorizedParties: app,
             audienceClaim: client_id, formerIssuers: ['https://old.example'],
             name: {claim: email, prefix: corp.}, users: created, passwordUsers: true,
             roles: {claim: realm_access.roles, admin: [ops, root], otherwise: device}, apps: {claim: apps},
             scopes: {claim: scope, fetch: read, manage: [admin]}, maxAge: 600, sessions: true,
             caFile: ca.pem, direct: true}
            """,
            environment: ["SEALPOST_SIGNIN_OIDC_MAXAGE": "700"]
        )
        let rules = try #require(oidc).rules
        #expect(rules.audiences == ["a", "b"] && rules.algorithms == [.edDSA] && rules.authorizedParties == ["app"])
        #expect(rules.formerIssuers == ["https://old.example"] && rules.audienceClaim == "client_id")
        #expect(rules.nameClaim == "email" && rules.namePrefix == "corp." && rules.createsUsers)
        #expect(rules.includesPasswordUsers && rules.allowsSessions && rules.maximumAge == 700)
        #expect(rules.roles?.claim == "realm_access.roles" && rules.roles?.values == [.admin: ["ops", "root"]])
        #expect(rules.otherRole == .device && rules.appsClaim == "apps")
        #expect(rules.scopes?.values == [.fetch: ["read"], .manage: ["admin"]])
        #expect(oidc?.caFile == "ca.pem")
        #expect(oidc?.isDirect == true)
    }

    /// A change of a valid section, and the text of the error that it causes.
    @Test(arguments: [
        ("issuer: 'http://id.example.com'", "issuer: must be https"),
        ("issuer: 'https://id.example.com?x'", "issuer: must"),
        ("issuer: id.example.com", "issuer: must"), ("audience: null", "audience: is missing"),
        ("audienceClaim: scope", "audienceClaim: must be one of"), ("audience: ''", "audience: is missing"),
        ("algorithms: [HS256]", "\"HS256\" must be one of"),
        ("algorithms: [none]", "\"none\" must be one of"), ("algorithms: []", "algorithms: needs"),
        ("users: some", "users: must be one of"), ("name: {prefix: 'a b'}", "name.prefix: must"),
        ("roles: {claim: groups}", "roles.claim: has no effect"), ("roles: {admin: [x]}", "roles.claim: is missing"),
        ("roles: {otherwise: device}", "roles.otherwise: needs"),
        ("scopes: {claim: scope}", "scopes.claim: has no effect"),
        ("roles: {claim: g, boss: [x]}", "boss"), ("maxAge: 10", "maxAge: must"),
        ("secret: x", "secret: is not known here"),
    ])
    func aWrongValueIsNamed(change: String, message: String) throws {
        let good = ["issuer: 'https://id.example.com'", "audience: sealpost"]
        let key = change.prefix { $0 != ":" }
        let lines = good.filter { !$0.hasPrefix(key) } + [change]
        do {
            _ = try self.load("{\(lines.joined(separator: ", "))}")
            Issue.record("was taken")
        } catch {
            #expect("\(error)".contains(message), "\(error)")
        }
    }

    @Test(
        arguments: [
            ("max-age=60", 60), ("public, Max-Age = 3600", 3600), ("max-age=99999999999999999999", 31_536_000),
            ("no-store", nil), ("max-age=", nil), ("max-age=-1", nil), ("max-age=\"60\"", nil), ("s-maxage=5", nil),
            ("", nil),
        ] as [(String, Int?)]
    )
    func theLifetimeOfKeysIsTheirMaxAge(field: String, seconds: Int?) {
        #expect(IssuerKeyService.maximumAge(field) == seconds)
    }
}
