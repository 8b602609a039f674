import Foundation
import PushCore
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

@Suite(.timeLimit(.minutes(5))) struct TLSConfigurationTests {
    private let files: TLSFolder

    init() throws {
        self.files = try TLSFolder()
        try self.files.writeServer("server")
    }

    private func load(_ tls: String, environment: [String: String] = [:]) throws -> Configuration {
        try self.files.configure(tls)
        return try Configuration.load(file: self.files.folder.file("sealpost.yaml"), environment: environment)
    }

    /// A revocation list is valid only for some days. It is reported among the certificates only
    /// on its last day, because otherwise it would always seem to expire soon.
    @Test(arguments: [(3600, true), (-60, true), (100_000, false)])
    func aRevocationListIsShownOnItsLastDay(left: Int, isShown: Bool) throws {
        try self.files.write(self.files.authority.makeRevocationList(validity: -7200...left), to: "revoked.pem")
        let paths = ["cert.pem", "key.pem", "ca.pem", "revoked.pem"].map(self.files.folder.file)
        let tls = Configuration.TLS(
            identity: .init(certificate: paths[0], privateKey: paths[1]),
            clientCA: paths[2],
            clientCRL: paths[3]
        )
        let setup = try TLSSetup(tls, logger: .silent)
        let names = setup.expiries(at: Date()).map(\.name)
        #expect(names.contains("server.tls.certificate"))
        // The simulated authority's certificates are valid from an hour ago until thirty days from
        // now.
        #expect(setup.expiries.allSatisfy { $0.lifetime.map { abs($0 - 2_595_600) < 10 } == true })
        #expect(names.contains("server.tls.clientCRL") == isShown, "\(names)")
        #expect(!setup.expiries.map(\.name).contains("server.tls.clientCRL"))
    }

    @Test func theFilesAreReadFromTheFileAndTheEnvironment() throws {
        let yaml = "{certificate: a, privateKey: b, additional: [{certificate: c, privateKey: d}]}"
        let fromFile = try self.load(yaml).tls
        #expect(
            fromFile
                == .init(
                    identity: .init(certificate: "a", privateKey: "b"),
                    additional: [.init(certificate: "c", privateKey: "d")]
                )
        )
        let overridden = try self.load(
            yaml,
            environment: [
                "SEALPOST_SERVER_TLS_PRIVATEKEY": "e", "SEALPOST_SERVER_TLS_CLIENTCA": "f",
                "SEALPOST_SERVER_TLS_ADDITIONAL": "[{certificate: g, privateKey: h}, {certificate: i, privateKey: j}]",
                "SEALPOST_SERVER_TLS_ADDITIONAL_1_PRIVATEKEY": "k",
            ]
        ).tls
        #expect(
            overridden
                == .init(
                    identity: .init(certificate: "a", privateKey: "e"),
                    additional: [
                        .init(certificate: "g", privateKey: "h"), .init(certificate: "i", privateKey: "k"),
                    ],
                    clientCA: "f"
                )
        )
    }

    @Test(arguments: [
        ("{certificate: a}", "sealpost.yaml:1: server.tls.privateKey: is missing"),
        ("{privateKey: a}", "sealpost.yaml:1: server.tls.certificate: is missing"),
        ("{clientCA: a}", "sealpost.yaml:1: server.tls.certificate: is missing"),
        ("{certificate: a, privateKey: b, clientCRL: c}", "server.tls.clientCRL: has no meaning without clientCA"),
        ("{hsts: 60}", "sealpost.yaml:1: server.tls.certificate: is missing"),
        ("{certificate: a, privateKey: b, hsts: -1}", "server.tls.hsts: must be a whole number from 0 to 63072000"),
        ("{certificate: a, privateKey: b, hsts: 63072001}", "server.tls.hsts: must be a whole number from 0"),
        ("{additional: [{certificate: a, privateKey: b}]}", "server.tls.certificate: is missing"),
        ("{certificate: a, privateKey: b, additional: c}", "server.tls.additional: must be a list of mappings"),
        ("{certificate: a, privateKey: b, additional: [c]}", "server.tls.additional: must be a list of mappings"),
        ("{certificate: a, privateKey: b, additional: [{certificate: c}]}", "tls.additional.0.privateKey: is missing"),
        ("{additional: [{certificate: a, privateKey: b, x: c}]}", "server.tls.additional.0.x: is not known here"),
        ("{certificat: a}", "server.tls.certificat: is not known here"),
    ])
    func anErrorNamesTheKeyAndItsPlace(tls: String, message: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try self.load(tls) }
        #expect("\(try #require(error))".contains(message), "\(String(describing: error))")
    }

    @Test func anErrorInAListOfTheEnvironmentNamesTheVariable() throws {
        let environment = ["SEALPOST_SERVER_TLS_ADDITIONAL": "[{certificate: c}]"]
        let error = #expect(throws: ConfigurationError.self) {
            try self.load("{certificate: a, privateKey: b}", environment: environment)
        }
        #expect("\(try #require(error))" == "SEALPOST_SERVER_TLS_ADDITIONAL.0.privateKey: is missing")
    }

    /// The section `server.tls`, and the daemon's error for its files. `other.key` belongs to no
    /// certificate.
    static let badFiles = [
        ("{certificate: none.pem, privateKey: key.pem}", "server.tls.certificate: none.pem cannot be read"),
        ("{certificate: cert.pem, privateKey: none.pem}", "server.tls.privateKey: none.pem cannot be read"),
        (
            "{certificate: binary, privateKey: key.pem}",
            "server.tls.certificate: binary contains no readable PEM certificate"
        ),
        ("{certificate: ., privateKey: key.pem}", "server.tls.certificate: . cannot be read"),
        (
            "{certificate: empty, privateKey: key.pem}",
            "server.tls.certificate: empty contains no readable PEM certificate"
        ),
        (
            "{certificate: key.pem, privateKey: key.pem}",
            "server.tls.certificate: key.pem contains no readable PEM certificate"
        ),
        (
            "{certificate: cert.pem, privateKey: cert.pem}",
            "server.tls.privateKey: cert.pem contains no readable PEM private key"
        ),
        ("{certificate: cert.pem, privateKey: other.key}", "server.tls.privateKey: other.key does not match the"),
        ("{certificate: cert.pem, privateKey: locked.key}", "server.tls.privateKey: locked.key is encrypted"),
        ("{certificate: cert.pem, privateKey: key.pem, clientCA: none.pem}", "server.tls.clientCA: none.pem cannot be"),
        (
            "{certificate: cert.pem, privateKey: key.pem, clientCA: key.pem}",
            "server.tls.clientCA: key.pem contains no readable PEM certificate"
        ),
        (
            "{certificate: cert.pem, privateKey: key.pem, clientCA: ca.pem, clientCRL: ca.pem}",
            "server.tls.clientCRL: ca.pem has no readable PEM revocation list"
        ),
        (
            "{certificate: cert.pem, privateKey: key.pem, additional: [{certificate: cert.pem, privateKey: other.key}]}",
            "server.tls.additional.0.privateKey: other.key does not match the first certificate in cert.pem, which must be"
        ),
        (
            "{certificate: short.pem, privateKey: short.key}",
            "server.tls.certificate: short.pem cannot be used (SSL_CTX"
        ),
    ]

    @Test(arguments: Self.badFiles)
    func badFilesStopTheStartAndAreNamed(tls: String, message: String) async throws {
        try self.files.write("", to: "empty")
        try Data([0x30, 0x82, 0xFF]).write(to: URL(fileURLWithPath: self.files.folder.file("binary")))
        try self.files.write(self.files.authority.makeServerIdentity(), as: ("other.pem", "other.key"))
        let openssl = try await self.files.shell(
            """
            openssl pkcs8 -topk8 -in key.pem -passout pass:secret -out locked.key
            openssl req -x509 -newkey rsa:1024 -nodes -subj /CN=short -keyout short.key -out short.pem
            """
        ).end()
        #expect(openssl.code == 0)
        try self.files.configure(tls)
        let ended = try await Daemon.run(["serve", "--config", "sealpost.yaml"], in: self.files.folder)
        #expect(ended.code == 78)
        #expect(ended.errors.hasPrefix("sealpost: sealpost.yaml:1: \(message)"), "\(ended.errors)")
    }

    @Test(arguments: [(-7200...(-3600), "cert.pem has expired"), (3600...7200, "cert.pem is not valid before")])
    func anExpiredOrFutureCertificateOnlyLogsAWarning(validity: ClosedRange<Int>, message: String) async throws {
        let content = CertificateContent(commonNames: ["server"], usage: .server, validity: validity)
        try self.files.write(self.files.authority.makeIdentity(content))
        try self.files.configure()
        let daemon = try ChildProcess(
            Daemon.executable,
            ["serve", "--config", "sealpost.yaml"],
            in: self.files.folder.path,
            environment: ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0"]
        )
        let log = await daemon.errors(until: "serving")
        #expect(log.contains("clients will refuse a certificate"), "\(log)")
        #expect(log.contains(message), "\(log)")
        // `sealpost doctor` reports a failure only for the expired certificate. The server starts
        // with either certificate.
        let doctor = try await Daemon.run(["doctor", "--config", "sealpost.yaml"], in: self.files.folder)
        #expect(doctor.output.contains("fail server.tls.certificate: expired on") == (validity.upperBound < 0))
        daemon.signal(SIGKILL)
        _ = await daemon.end()
    }
}
