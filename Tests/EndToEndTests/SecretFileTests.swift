import Foundation
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost

/// All secret files that the configuration names follow the same rule for their mode.
@Suite(.timeLimit(.minutes(5))) struct SecretFileTests {
    private static let apns = "type: apns, envelope: alert, topic: a.b, teamID: ABCDE12345, keyID: ABC123DEFG"

    /// Each key with a configuration; `<file>` stands for a file that all users may read.
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
    }

    @Test(arguments: Self.keys) func aSecretThatAllUsersMayReadIsRefused(key: String, yaml: String) async throws {
        let file = self.folder.file("open")
        try self.folder.writeSecret("secret\n", to: "open")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let text = yaml.replacing("<file>", with: file).replacing("cert.pem", with: self.folder.file("cert.pem"))
        try text.write(toFile: self.folder.file("sealpost.yaml"), atomically: true, encoding: .utf8)
        let errors = await self.errors(of: self.folder.file("sealpost.yaml"))
        #expect(errors.contains { $0.contains("\(file) is readable by") && $0.contains("users") }, "\(errors)")
    }

    /// Every new configuration key with such a name must be in the table above.
    @Test func theTableHasEachKeyThatNamesASecret() throws {
        let example = try Repository.text(of: "config/sealpost.yaml")
        let names = example.matches(of: /\b([a-zA-Z]*(?:File|Key|[pP]assword))[:=]/).map { String($0.1) }
        // The excluded keys name certificates and texts.
        let secrets = Set(names).subtracting(["caFile", "titleKey", "bodyKey"])
        #expect(secrets == Set(Self.keys.map(\.0)).subtracting(["serviceAccount"]))
    }

    /// Returns the doctor's failures, or the error of the configuration.
    private func errors(of file: String) async -> [String] {
        do {
            var configuration = try Configuration.load(file: file, environment: [:])
            configuration.keys = self.folder.path
            configuration.database = self.folder.file("sealpost.db")
            return try await Doctor(configuration: configuration).examine(online: false)
                .filter { $0.grade == .fail }.map(\.text)
        } catch {
            return ["\(error)"]
        }
    }
}
