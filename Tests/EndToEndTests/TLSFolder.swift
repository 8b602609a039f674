import Foundation
import PushSimulators
import PushTesting

/// A folder with a certificate authority, and a configuration that enables the daemon's TLS.
struct TLSFolder: Sendable {
    let folder: TemporaryFolder
    let authority: TestAuthority

    init() throws {
        self.folder = try TemporaryFolder()
        self.authority = try TestAuthority()
        try self.authority.write(to: self.folder.file("ca.pem"))
    }

    /// Writes a configuration with the section `server.tls`. By default, the section names a
    /// certificate and its key.
    func configure(_ tls: String = "{certificate: cert.pem, privateKey: key.pem}") throws {
        try self.write("server: {tls: \(tls)}\n", to: "sealpost.yaml")
    }

    /// Writes a server's certificate for 127.0.0.1 with the common name `name`, and its key.
    func writeServer(_ name: String, as files: (certificate: String, privateKey: String) = ("cert.pem", "key.pem"))
        throws
    {
        let content = CertificateContent(commonNames: [name], usage: .server, alternativeNames: ["IP:127.0.0.1"])
        try self.write(self.authority.makeIdentity(content), as: files)
    }

    func write(
        _ identity: TestAuthority.Identity,
        as files: (certificate: String, privateKey: String) = ("cert.pem", "key.pem")
    ) throws {
        try self.write(identity.certificate, to: files.certificate)
        try self.write(identity.privateKey, to: files.privateKey)
    }

    func write(_ text: String, to name: String) throws {
        try self.folder.writeSecret(text, to: name)
    }

    func start() async throws -> Daemon {
        try await Daemon(in: self.folder, arguments: ["--config", "sealpost.yaml"])
    }

    /// Runs `curl`, which trusts only this authority.
    func curl(_ arguments: String...) async throws -> ChildProcess.Ended {
        let all = ["--silent", "--verbose", "--max-time", "60", "--cacert", "ca.pem"] + arguments
        return try await ChildProcess("/usr/bin/curl", all, in: self.folder.path).end()
    }

    /// Starts a bash script in the folder.
    func shell(_ script: String) throws -> ChildProcess {
        try ChildProcess("/bin/bash", ["-c", script], in: self.folder.path, environment: ["PATH": "/usr/bin:/bin"])
    }
}
