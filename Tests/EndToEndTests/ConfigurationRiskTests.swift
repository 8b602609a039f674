import PushTesting
import Testing

@testable import PushApplication

@Suite(.timeLimit(.minutes(5))) struct ConfigurationRiskTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var listen = ["127.0.0.1:8080"]
        var proxies: [String] = []
        var identityHeader: String?
        var names: [String] = []
        var hasTLS = false
        var warned: [String] = []
        var refused: [String] = []
    }

    @Test(arguments: [
        Row(testDescription: "the defaults"),
        Row(testDescription: "loopback and a socket", listen: ["127.7.7.7:1", "[::1]:1", "unix:/run/x"]),
        Row(testDescription: "in clear", listen: ["127.0.0.1:1", "0.0.0.0:1"], warned: ["server.listen"]),
        Row(testDescription: "in clear, IPv6", listen: ["[2001:db8::1]:1"], warned: ["server.listen"]),
        Row(testDescription: "with TLS", listen: ["0.0.0.0:1"], hasTLS: true),
        Row(testDescription: "behind a proxy", listen: ["10.0.0.2:1"], proxies: ["10.0.0.1"]),
        Row(
            testDescription: "identity",
            proxies: ["10.0.0.0/8", "unix"],
            identityHeader: "X-User",
            names: ["push.example"]
        ),
        Row(testDescription: "identity by a socket", proxies: ["unix"], identityHeader: "X-User"),
        Row(
            testDescription: "identity for any host",
            proxies: ["unix", "127.0.0.1"],
            identityHeader: "X-User",
            refused: ["server.names"]
        ),
        Row(
            testDescription: "identity from anybody",
            proxies: ["10.0.0.0/8", "0.0.0.0/0"],
            identityHeader: "X-User",
            names: ["push.example"],
            refused: ["server.trustedProxies"]
        ),
        Row(
            testDescription: "identity from anybody, IPv6",
            proxies: ["::/0"],
            identityHeader: "X-User",
            names: ["push.example"],
            refused: ["server.trustedProxies"]
        ),
        Row(testDescription: "addresses from anybody", proxies: ["0.0.0.0/0"]),
    ])
    func eachRiskOfAConfigurationIsWarnedAboutOrRefused(row: Row) {
        var configuration = Configuration()
        configuration.listen = row.listen
        configuration.trustedProxies = row.proxies
        configuration.server.identityField = row.identityHeader.flatMap(IdentityField.init)
        configuration.server.names = Set(row.names)
        if row.hasTLS { configuration.tls = .init(identity: .init(certificate: "c", privateKey: "k")) }
        let risks = configuration.risks
        #expect(risks.filter { $0.grade == .warned }.map(\.key) == row.warned)
        #expect(risks.filter { $0.grade == .refused }.map(\.key) == row.refused)
    }

    @Test func aServerThatAnybodyCouldSignInToDoesNotStart() async throws {
        let folder = try TemporaryFolder()
        try folder.writeSecret(
            "server: {listen: [\"127.0.0.1:0\"], trustedProxies: [0.0.0.0/0], identityHeader: X-User}\n",
            to: "c.yaml"
        )
        let ended = try await Daemon.run(["serve", "--config", "c.yaml"], in: folder)
        #expect(ended.code == 78, "\(ended.output)")
        #expect("\(ended)".contains("trusts every address"), "\(ended)")
    }

    @Test func aServerThatAWebPageCouldSignInToDoesNotStart() async throws {
        let folder = try TemporaryFolder()
        try folder.writeSecret(
            "server: {listen: [\"127.0.0.1:0\"], trustedProxies: [127.0.0.1], identityHeader: X-User}\n",
            to: "c.yaml"
        )
        let ended = try await Daemon.run(["serve", "--config", "c.yaml"], in: folder)
        #expect(ended.code == 78, "\(ended.output)")
        #expect("\(ended)".contains("server.names: is empty, and 127.0.0.1 is trusted"), "\(ended)")
    }
}
