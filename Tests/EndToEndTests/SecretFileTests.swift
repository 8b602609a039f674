import Foundation
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// All secret files that the configuration names follow the same rule for their mode.
@Suite(.timeLimit(.minutes(5))) struct SecretFileTests {
    private static let apns = "type: apns, envelope: alert, topic: a.b, teamID: ABCDE12345, keyID: ABC123DEFG"

    /// Each configuration key that names a secret file, with a configuration. `<file>` stands for
    /// a file that all users may read.
    static let keys = [
        ("privateKey", "server: {tls: {certificate: cert.pem, privateKey: <file>}}"),
        ("passwordFile", "database: 'postgres://u@localhost/d?passwordFile=<file>'"),
        ("secretFile", "events: {webhook: {url: 'https://h.example/', secretFile: <file>}}"),
        ("credentialsFile", "proxy: {url: 'http://p:1', credentialsFile: <file>}\nsenders: {x: {type: stream}}"),
        ("keyFile", "senders: {x: {\(Self.apns), keyFile: <file>}}"),
        ("serviceAccount", "senders: {x: {type: fcm, serviceAccount: <file>}}"),
        ("clientSecretFile", "senders: {x: {type: wns, clientID: a, clientSecretFile: <file>}}"),
        ("keyFile", "senders: {x: {type: webpush, subject: 'mailto:a@b.example', keyFile: <file>}}"),
        ("headersFile", "tracing: {endpoint: 'https://h.example/', headersFile: <file>}\nsenders: {x: {type: stream}}"),
        ("secretFile", "senders: {x: {type: webhook, url: 'https://h.example/', secretFile: <file>}}"),
    ]

    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
        let authority = try TestAuthority()
        let identity = try authority.makeIdentity(CertificateContent(commonNames: ["a"], usage: .server))
        try identity.certificate.write(toFile: self.folder.file("cert.pem"), atomically: true, encoding: .utf8)
        try self.folder.writeSecret(identity.privateKey, to: "key.pem")
    }

    @Test(arguments: Self.keys) func aSecretThatAllUsersMayReadIsRefused(key: String, yaml: String) async throws {
        let file = self.folder.file("open")
        try self.folder.writeSecret("secret\n", to: "open")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let errors = try await self.errors(of: yaml, file: file)
        #expect(errors.contains { $0.contains("\(file) is readable by") && $0.contains("users") }, "\(errors)")
    }

    /// A FIFO without a writer would delay the start, or the shutdown, for ever.
    @Test(arguments: Self.keys) func aPipeOrAFolderInPlaceOfASecretIsRefused(key: String, yaml: String) async throws {
        for (name, reason) in [("fifo", "it is a pipe"), ("folder", "it is a folder")] {
            let file = self.folder.file(name)
            if name == "fifo" { try #require(mkfifo(file, 0o600) == 0) } else { try #require(mkdir(file, 0o700) == 0) }
            let errors = try await self.errors(of: yaml, file: file)
            #expect(errors.contains { $0.contains("\(file) cannot be read: \(reason)") }, "\(errors)")
        }
    }

    @Test(arguments: [
        ("certificate", ""), ("clientCA", "certificate: cert.pem, "),
        ("clientCRL", "certificate: cert.pem, clientCA: cert.pem, "),
    ])
    func aPipeInPlaceOfCertificatesIsRefused(key: String, others: String) async throws {
        let fifo = self.folder.file("fifo")
        try #require(mkfifo(fifo, 0o600) == 0)
        let yaml = "server: {tls: {\(others)\(key): <file>, privateKey: key.pem}}"
        let errors = try await self.errors(of: yaml, file: fifo)
        #expect(errors.contains { $0.contains("server.tls.\(key): \(fifo) cannot be read: it is a pipe") }, "\(errors)")
    }

    /// Kubernetes replaces the link `..data` when a secret changes.
    @Test func aSecretBehindLinksIsRead() throws {
        try FileManager.default.createDirectory(atPath: self.folder.file("..1"), withIntermediateDirectories: true)
        try self.folder.writeSecret("secret", to: "..1/key")
        for (link, target) in [("..data", "..1"), ("key", "..data/key")] {
            try FileManager.default.createSymbolicLink(atPath: self.folder.file(link), withDestinationPath: target)
        }
        #expect(try SecretFile.text(of: self.folder.file("key"), key: "k") == "secret")
    }

    @Test(arguments: [
        ("serviceAccount", "{}", "senders.x.serviceAccount: the file's project_id: missing"),
        ("serviceAccount", "x", "senders.x.serviceAccount: must be the JSON file of a service account"),
        ("clientSecretFile", "", "senders.x.clientSecretFile: must be a file with the client secret, and is empty"),
        ("secretFile", "\n", "events.webhook.secretFile: must be a file with a secret, and is empty"),
        ("credentialsFile", "canary", "must have a name, a colon and a password on its only line"),
        ("headersFile", "a=b\ncanary", "header 2 has no =; write pairs such as api-key=value"),
    ])
    func aSecretWithOtherContentIsNamedAndNotQuoted(key: String, content: String, message: String) async throws {
        try self.folder.writeSecret(content, to: "content")
        let yaml = try #require(Self.keys.first { $0.0 == key }).1
        let errors = try await self.errors(of: yaml, file: self.folder.file("content"))
        #expect(errors.contains { $0.contains(message) }, "\(errors)")
        #expect(!errors.contains { $0.contains("canary") }, "\(errors)")
    }

    /// Each key `caFile` with a configuration; `<file>` stands for the file.
    static let authorities = [
        ("senders.x", "senders: {x: {\(Self.apns), keyFile: none, caFile: <file>}}"),
        ("senders.x", "senders: {x: {type: fcm, serviceAccount: none, caFile: <file>}}"),
        ("senders.x", "senders: {x: {type: wns, clientID: a, clientSecretFile: none, caFile: <file>}}"),
        ("senders.x", "senders: {x: {type: webpush, subject: 'mailto:a@b.example', caFile: <file>}}"),
        ("senders.x", "senders: {x: {type: webhook, url: 'https://h.example/', secretFile: none, caFile: <file>}}"),
        ("events.webhook", "events: {webhook: {url: 'https://h.example/', secretFile: none, caFile: <file>}}"),
        ("signIn.oidc", "signIn: {oidc: {issuer: 'https://h.example', audience: a, caFile: <file>}}"),
        ("tracing", "tracing: {endpoint: 'https://h.example/', caFile: <file>}"),
    ]

    /// libcurl would report an unusable file only at the first request to the service.
    @Test(arguments: Self.authorities)
    func aFileWithoutCertificatesOfAuthoritiesIsRefused(section: String, yaml: String) async throws {
        try "no certificate\n".write(toFile: self.folder.file("text"), atomically: true, encoding: .utf8)
        try #require(mkfifo(self.folder.file("fifo"), 0o600) == 0)
        try FileManager.default.copyItem(atPath: self.folder.file("cert.pem"), toPath: self.folder.file("authority"))
        for (name, reason) in [
            ("text", "contains no readable PEM certificate"), ("fifo", "cannot be read: it is a pipe"),
        ] {
            let file = self.folder.file(name)
            let errors = try await self.errors(of: yaml, file: file)
            #expect(errors.contains { $0.contains("\(section).caFile: \(file) \(reason)") }, "\(errors)")
        }
        let errors = try await self.errors(of: yaml, file: self.folder.file("authority"))
        #expect(!errors.contains { $0.contains("caFile") }, "\(errors)")
    }

    /// Every configuration key whose name says that it names a secret must be in `keys`.
    @Test func theTableHasEachKeyThatNamesASecret() throws {
        let example = try Repository.text(of: "config/sealpost.yaml")
        let names = example.matches(of: /\b([a-zA-Z]*(?:File|Key|[pP]assword))[:=]/).map { String($0.1) }
        // The excluded keys have similar names, but name certificates and texts.
        let secrets = Set(names).subtracting(["caFile", "titleKey", "bodyKey"])
        #expect(secrets == Set(Self.keys.map(\.0)).subtracting(["serviceAccount"]))
    }

    /// Returns the doctor's failures, or the error of the configuration; `file` replaces `<file>`.
    private func errors(of yaml: String, file: String) async throws -> [String] {
        let text = yaml.replacing("<file>", with: file).replacing("cert.pem", with: self.folder.file("cert.pem"))
            .replacing("key.pem", with: self.folder.file("key.pem"))
        try text.write(toFile: self.folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        do {
            var configuration = try Configuration.load(file: self.folder.file("sealpost.yaml"), environment: [:])
            configuration.keys = self.folder.path
            configuration.database = self.folder.file("sealpost.db")
            return try await Doctor(configuration: configuration).examine(online: false)
                .filter { $0.grade == .fail }.map(\.text)
        } catch {
            return ["\(error)"]
        }
    }
}
