import Foundation
import HTTPTypes
import PushTesting
import Reactor
import SocketHTTP
import Testing

@testable import PushApplication
@testable import sealpost

/// The check of the OIDC issuer by `sealpost doctor --online`. The issuer is on this machine, and
/// publishes any documents.
@Suite(.timeLimit(.minutes(5))) struct DoctorIssuerTests {
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
        let issuer = try IssuerStub(configuration: configuration, keys: keys)
        let finding = try await issuer.whileRunning { try await Self.finding(on: $0) }
        #expect(finding.grade == (text.hasPrefix("ok ") ? .ok : .fail))
        #expect(finding.description.contains(text.replacing("<issuer>", with: issuer.url)), "\(finding)")
    }

    @Test func anIssuerThatDoesNotAnswerFails() async throws {
        let finding = try await Self.finding(on: IssuerStub(configuration: "", keys: "").url)
        #expect(finding.grade == .fail && finding.text.contains(" cannot be read: "), "\(finding)")
    }

    private static func finding(on issuer: String) async throws -> Finding {
        let folder = try TemporaryFolder()
        let yaml = "signIn: {oidc: {issuer: '\(issuer)', audience: sealpost}}"
        try yaml.write(toFile: folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        var configuration = try Configuration.load(file: folder.file("sealpost.yaml"), environment: [:])
        configuration.database = folder.file("sealpost.db")
        configuration.keys = folder.path
        let findings = try await Doctor(configuration: configuration).examine(online: true)
        return try #require(findings.first { $0.subject == "signIn.oidc" }, "\(findings)")
    }
}

private struct IssuerStub: Responder {
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
            limits: ServerLimits(bodyBytes: 1 << 10),
            responder: self
        )
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run() }
            defer { server.stop() }
            return try await body(self.url)
        }
    }
}
