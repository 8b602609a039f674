import Foundation
import PushAPI
import PushApplication
import PushCore
import PushStore

/// Creates the files of a new server: its configuration, its keys, its database, and its first
/// administrator.
///
/// The configuration is written under another name and gets its own name last. So if the
/// configuration exists, all other files exist, too. Each of the other files is either complete or
/// missing, and an existing file is used. So after a crash, the same command continues the work.
struct Initialization {
    let file: String
    let answers: InitAnswers

    /// Throws `CommandFailure` if the file exists; an existing file is never changed.
    static func refuseExisting(_ file: String) throws(CommandFailure) {
        guard FileManager.default.fileExists(atPath: file) else { return }
        throw CommandFailure("\(file) exists already; edit it, or name another file with --config")
    }

    /// Returns a report of the work. Throws `ConfigurationError`, `CommandFailure` or
    /// `StoreError`.
    func run(password: PasswordHash?) async throws -> [String] {
        if let fault = RootFolder(ofExisting: self.file).fault {
            throw CommandFailure("the configuration \(self.file): \(fault)")
        }
        // The file has the mode 0640, because the address of a database may contain a password.
        let written = try NewFile(self.file, what: "the configuration", mode: 0o640, text: self.text)
        let environment = ProcessInfo.processInfo.environment
        let configuration = try Configuration.load(file: written.temporaryPath, environment: environment)
        try configuration.refuseRisks()
        try configuration.refuseForeignFiles()
        try configuration.checkMissingFiles()
        var lines = try self.makeKeys(configuration)
        let now = configuration.makeClock().now()
        try await withStore(configuration, creates: true) { store in
            guard let name = self.answers.administrator, let password else { return }
            let isAdded = try await store.addUser(
                NewUser(name, role: .admin, password: password),
                by: AuditRecord(.addUser, of: name.description, detail: Role.admin.rawValue, at: now),
                now: now
            )
            lines.append(
                isAdded ? "\(name) is an administrator" : "\(name) exists already and keeps its password and role"
            )
        }
        try written.appear()
        lines.append("\(self.file) is written and can be used")
        return lines + configuration.risks.map { "risky: \($0.key): \($0.reason)" }
    }

    /// The next steps, in their order.
    var nextSteps: [String] {
        let host = self.answers.listen.replacing("0.0.0.0:", with: "127.0.0.1:").replacing("[::]:", with: "[::1]:")
        let console =
            host.hasPrefix("unix:")
            ? "/console/, at your proxy" : "\(self.answers.tls == nil ? "http" : "https")://\(host)/console/"
        let signIn =
            self.answers.administrator.map { "sign in as \($0) at \(console)" }
            ?? "open the link that the server prints, and create the first administrator"
        return [
            "Back up the files of keys in \(self.answers.keys), apart from the database: without the keys the database cannot be read.",
            "Start the server: sealpost serve --config \(self.file)",
            "Then \(signIn)",
            "For a backend: sealpost user add NAME --role publisher --no-password, then sealpost token create NAME",
            "To wake phones, add senders to the configuration: docs/providers.md; then run sealpost doctor --config \(self.file)",
        ]
    }

    // MARK: - Private

    private func makeKeys(_ configuration: Configuration) throws -> [String] {
        let isThere = FileManager.default.fileExists(atPath: configuration.keyring)
        _ = try KeyringFile(configuration.keyring).loadOrCreate(beside: configuration.storePlace)
        _ = try SigningKeyFile(configuration.signingKeys).loadOrCreate(beside: configuration.storePlace)
        return ["the keys \(configuration.keyring) and \(configuration.signingKeys) are \(isThere ? "used" : "made")"]
    }

    private var text: String {
        """
        # The configuration of Sealpost, made by `sealpost init`. Every key that is not here has its default; `man sealpost.yaml` has
        # all keys. `sealpost doctor` checks the file. To wake phones, add senders, such as
        #
        # senders:
        #   apns: {keyFile: AuthKey_ABC123DEFG.p8, teamID: DEF123GHIJ, topic: com.example.app}
        #   fcm: {serviceAccount: service-account.json}

        server:
          listen: [\(Self.quoted(self.answers.listen))]
        \(self.tlsText)database: \(Self.quoted(self.answers.database))
        # Back up this folder apart from the database: nobody has a second copy of the keys.
        keys: \(Self.quoted(self.answers.keys))

        """
    }

    private var tlsText: String {
        guard let tls = self.answers.tls else { return "" }
        return """
              tls:
                certificate: \(Self.quoted(tls.certificate))
                privateKey: \(Self.quoted(tls.privateKey))

            """
    }

    /// Each JSON string is also a YAML string.
    private static func quoted(_ text: String) -> String {
        String(decoding: JSONValue.string(text).bytes, as: UTF8.self)
    }
}
