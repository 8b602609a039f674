import Foundation
import HTTPTypes
import PushTesting
import Reactor
import SocketHTTP
import Testing

@testable import PushApplication
@testable import sealpost

/// The calls of `sealpost doctor --online` to other servers than providers: an OIDC issuer and a
/// collector of spans, both on this machine.
@Suite(.timeLimit(.minutes(5))) struct DoctorOnlineTests {
    /// The public key of RFC 8037 appendix A.2.
    private static let keys = #"""
        {"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
        """#

    /// The issuer's configuration and its key set, and the doctor's finding. `<issuer>` stands for
    /// the issuer's address.
    @Test(arguments: [
        (
            #"{"issuer":"<issuer>","jwks_uri":"<issuer>/keys"}"#, Self.keys,
            "ok   signIn.oidc: the keys of <issuer> can be read"
        ),
        (
            #"{"issuer":"<issuer>/","jwks_uri":"<issuer>/keys"}"#, Self.keys,
            "the issuer's configuration names another issuer, \"<issuer>/\""
        ),
        (#"{"issuer":"<issuer>","jwks_uri":"<issuer>/none"}"#, Self.keys, "<issuer>/none was answered with 404"),
        (#"{"issuer":"<issuer>","jwks_uri":"<issuer>/keys"}"#, #"{"keys":[]}"#, "has no key that verifies tokens"),
    ])
    func theIssuersKeysAreReadAsTheServerDoes(configuration: String, keys: String, text: String) async throws {
        let issuer = try Stub(configuration: configuration, keys: keys)
        let finding = try await issuer.whileRunning { try await Self.finding(on: $0) }
        #expect(finding.grade == (text.hasPrefix("ok ") ? .ok : .fail))
        #expect(finding.description.contains(text.replacing("<issuer>", with: issuer.url)), "\(finding)")
    }

    @Test func anIssuerThatDoesNotAnswerFails() async throws {
        let finding = try await Self.finding(on: "http://127.0.0.1:1")
        #expect(finding.grade == .fail && finding.text.contains(" cannot be read: "), "\(finding)")
    }

    @Test func aWrongSchemeOfTheIssuerIsReportedWithTheKeyToChange() async throws {
        let issuer = try Stub(configuration: "", keys: "")
        let secure = try await issuer.whileRunning { try await Self.finding(on: $0.replacing("http:", with: "https:")) }
        for key in ["signIn.oidc.caFile", "signIn.oidc.issuer"] {
            #expect(secure.grade == .fail && secure.text.contains(key), "\(secure)")
        }
    }

    @Test func aCollectorOfSpansIsCalled() async throws {
        let stub = try Stub(configuration: "", keys: "")
        let reached = try await stub.whileRunning { try await Self.findings("tracing: {endpoint: '\($0)'}") }
        #expect(reached.contains(Finding(.ok, "tracing", "\(stub.url)/v1/traces answers with 404")), "\(reached)")
        let unreachable = try await Self.findings("tracing: {endpoint: 'http://127.0.0.1:1'}")
        #expect(unreachable.filter { $0.subject == "tracing" }.map(\.grade) == [.fail], "\(unreachable)")
    }

    private static func finding(on issuer: String) async throws -> Finding {
        let findings = try await Self.findings("signIn: {oidc: {issuer: '\(issuer)', audience: sealpost}}")
        return try #require(findings.first { $0.subject == "signIn.oidc" }, "\(findings)")
    }

    private static func findings(_ yaml: String) async throws -> [Finding] {
        let folder = try TemporaryFolder()
        try yaml.write(toFile: folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        var configuration = try Configuration.load(file: folder.file("sealpost.yaml"), environment: [:])
        configuration.database = folder.file("sealpost.db")
        configuration.keys = folder.path
        return try await Doctor(configuration: configuration).examine(online: true)
    }
}

/// A server with the documents of an issuer; it answers other requests with 404.
private struct Stub: Responder {
    private let server: Listener
    let url: String
    private let documents: [String: String]

    init(configuration: String, keys: String) throws {
        self.server = try Listener(.tcp(host: "127.0.0.1", port: 0))
        self.url = "http://\(self.server.address)"
        self.documents = [
            "/.well-known/openid-configuration": configuration.replacing("<issuer>", with: self.url), "/keys": keys,
        ]
    }

    func respond(to request: Request) -> Reply {
        guard let text = self.documents[request.head.path] else { return .now(Response(status: .notFound)) }
        return .now(Response(status: .ok, body: Array(text.utf8)))
    }

    func refuse(_ refusal: Refusal, head: RequestHead?) -> Response { Response(status: refusal.status) }

    /// Passes `body` the issuer's address.
    func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable (String) async throws -> Result
    ) async throws -> Result {
        let loops = try EventLoopGroup(count: 1)
        defer { loops.stop() }
        let server = HTTPServer(
            listeners: [self.server],
            loops: loops,
            limits: ServerLimits { $0.bodyBytes = 1 << 10 },
            responder: self
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run() }
            defer { server.stop() }
            return try await body(self.url)
        }
    }
}
