import Foundation
import HTTPSignatures
import PostgreSQL
import PushAPI
import PushCore
import PushSenders
import PushServer
import PushSimulators
import PushStore
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost
@testable import sealpost_demo

@Suite(.timeLimit(.minutes(5))) struct DoctorTests {
    private let folder: TemporaryFolder
    private var configuration = Configuration()

    init() throws {
        self.folder = try TemporaryFolder()
        self.configuration.database = self.folder.file("sealpost.db")
        self.configuration.keys = self.folder.path
    }

    /// Makes a database and its keys, as a first start does.
    private func prepare() async throws {
        try await self.configuration.openStore().close()
    }

    private func examine(now: Date = Date(), online: Bool = false) async throws -> [String: Finding] {
        let findings = try await Doctor(configuration: self.configuration, now: now).examine(online: online)
        return Dictionary(findings.map { ($0.subject, $0) }) { $0.grade == .fail ? $0 : $1 }
    }

    @Test func aSoundInstallationPassesWhileTheServerRuns() async throws {
        try await self.prepare()
        let store = try self.configuration.openStore()
        let findings = try await self.examine()
        await store.close()
        #expect(
            findings["database"]?.description
                == "ok   database: \(self.configuration.database) is intact and up to date"
        )
        #expect(findings["keyring"]?.grade == .ok)
        #expect(findings["senders.stream"]?.text == "needs no credentials")
        #expect(findings["signing-keys"]?.grade == .ok)
        #expect(findings["clock"]?.grade == .ok)
        #expect(Set(findings.keys) == ["clock", "disk", "keyring", "signing-keys", "database", "senders.stream"])
    }

    @Test func doctorCreatesNothingBeforeTheFirstStart() async throws {
        let findings = try await self.examine()
        #expect(findings["database"]?.grade == .warn)
        #expect(findings["keyring"]?.grade == .warn && findings["signing-keys"]?.grade == .warn)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.path).isEmpty)
    }

    @Test func signingKeysAreChecked() async throws {
        try await self.prepare()
        let keys = try SigningKeyFile(self.configuration.signingKeys).loadOrCreate()
        let finding = try #require(try await self.examine()["signing-keys"])
        #expect(finding.grade == .ok)
        #expect(finding.text.contains(keys.keys[0].key.id))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: self.configuration.signingKeys)
        #expect(try await self.examine()["signing-keys"]?.grade == .fail)
        try FileManager.default.removeItem(atPath: self.configuration.signingKeys)
        let lost = try #require(try await self.examine()["signing-keys"])
        #expect(lost.grade == .fail && lost.text.contains("is missing; restore it from a backup"), "\(lost)")
    }

    /// The mode of a file with a secret, and the grade that `sealpost doctor` gives it.
    @Test(arguments: [(0o600, Finding.Grade.ok), (0o640, .ok), (0o440, .ok), (0o644, .fail), (0o602, .fail)])
    mutating func aKeyThatAllUsersMayReadOrChangeFails(mode: Int, grade: Finding.Grade) async throws {
        try self.folder.writeSecret("whsec_\(Data(count: 32).base64EncodedString())", to: "hook.secret")
        let file = self.folder.file("hook.secret")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        let webhook = SenderConfiguration.Webhook(url: "https://hook.example/", secretFile: file)
        self.configuration.senders = [Platform("hook"): .webhook(webhook)]
        let finding = try #require(try await self.examine()["senders.hook"])
        #expect(finding.grade == grade, "\(finding)")
        #expect(finding.text.contains("is readable by all users") == (grade == .fail))
    }

    /// The file of a workload identity federation contains no secret, so all users may read it.
    /// Only its owner may change it.
    @Test(arguments: [(0o644, true, Finding.Grade.ok), (0o600, true, .ok), (0o644, false, .warn), (0o646, true, .fail)])
    mutating func federationIsNamedAndItsSubjectTokenChecked(
        mode: Int,
        hasToken: Bool,
        grade: Finding.Grade
    ) async throws {
        let fcm = try FCMSimulator(authority: TestAuthority())
        if hasToken { try self.folder.writeSecret("token", to: "token") }
        let (file, token) = (self.folder.file("federation.json"), self.folder.file("token"))
        try self.folder.writeSecret(fcm.externalAccount(source: "{\"file\":\"\(token)\"}"), to: "federation.json")
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        var sender = SenderConfiguration.FCM(credentials: .file(file))
        sender.projectID = "p"
        sender.allowedHosts = ["localhost:\(fcm.port)"]
        self.configuration.senders = [Platform("fcm"): .fcm(sender)]
        let finding = try #require(try await self.examine()["senders.fcm"])
        #expect(finding.grade == grade, "\(finding)")
        let expected: [Finding.Grade: String] = [
            .ok: "workload identity federation, with the subject token in \(token), can be used",
            .warn: "the subject token in \(token) cannot be read: No such file or directory",
            .fail: "is readable by all users",
        ]
        #expect(finding.text.contains(expected[grade] ?? "?"), "\(finding)")
    }

    @Test mutating func credentialsOfTheMachineAreNamed() async throws {
        var sender = SenderConfiguration.FCM(credentials: .metadata)
        sender.projectID = "p"
        self.configuration.senders = [Platform("fcm"): .fcm(sender)]
        let finding = try #require(try await self.examine()["senders.fcm"])
        #expect(finding.description == "ok   senders.fcm: the service account of Google's metadata server can be used")
    }

    @Test mutating func risksAreNamed() async throws {
        self.configuration.listen = ["0.0.0.0:0"]
        #expect(try await self.examine()["server.listen"]?.grade == .warn)
        self.configuration.trustedProxies = ["0.0.0.0/0"]
        self.configuration.server.identityField = IdentityField("X-User")
        let findings = try await self.examine()
        #expect(findings["server.trustedProxies"]?.grade == .fail)
        #expect(findings["server.names"]?.grade == .fail)
    }

    @Test func aDamagedDatabaseFails() async throws {
        try await self.prepare()
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: self.configuration.database))
        try file.seek(toOffset: 4096)
        try file.write(contentsOf: Data(repeating: 0xAA, count: 8192))
        try file.close()
        #expect(try await self.examine()["database"]?.grade == .fail)
    }

    @Test func aFileThatIsNotADatabaseFails() async throws {
        try await self.prepare()
        try Data("no database, but long enough to be looked at".utf8)
            .write(to: URL(fileURLWithPath: self.configuration.database))
        #expect(try await self.examine()["database"]?.grade == .fail)
    }

    @Test func aKeyringThatIsMissingOrReadableByOthersFails() async throws {
        try await self.prepare()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: self.configuration.keyring)
        #expect(try await self.examine()["keyring"]?.text.contains("is readable by other users") == true)
        try FileManager.default.removeItem(atPath: self.configuration.keyring)
        #expect(try await self.examine()["keyring"]?.grade == .fail)
    }

    @Test(arguments: [0, 1_000_000_000])
    func aClockBehindTheFilesFails(seconds: TimeInterval) async throws {
        try await self.prepare()
        #expect(try await self.examine(now: Date(timeIntervalSince1970: seconds))["clock"]?.grade == .fail)
        #expect(try await self.examine(now: Date() - 3600)["clock"]?.text.contains("is behind") == true)
    }

    @Test(arguments: [(-1.0, Finding.Grade.fail), (0, .fail), (1, .warn), (30 * 86_400 - 1, .warn), (30 * 86_400, .ok)])
    func aCredentialIsWarnedAboutThirtyDaysBeforeItExpires(left: TimeInterval, expected: Finding.Grade) {
        let doctor = Doctor(configuration: self.configuration, now: Date(timeIntervalSince1970: 1_800_000_000))
        let expiry = CredentialExpiry(name: "x", expiresAt: doctor.now + left)
        #expect(doctor.judge(expiry).grade == expected)
    }

    /// A certificate's lifetime in days, the seconds until its end, and the doctor's grade.
    @Test(arguments: [
        (6.0, 129_599.0, Finding.Grade.warn), (6, 129_600, .ok), (90, 1_900_800, .warn), (90, 1_987_200, .ok),
        (365, 2_591_999, .warn), (365, 2_592_000, .ok),
    ])
    func aShortCertificateIsWarnedAboutInItsLastQuarter(days: Double, left: TimeInterval, grade: Finding.Grade) {
        let doctor = Doctor(configuration: self.configuration, now: Date(timeIntervalSince1970: 1_800_000_000))
        let expiry = CredentialExpiry(name: "x", expiresAt: doctor.now + left, lifetime: days * 86_400)
        #expect(doctor.judge(expiry).grade == grade)
    }

    @Test func certificatesAndSendersAreCheckedForTheirExpiry() async throws {
        let providers = try Providers(folder: self.folder.path)
        var doctor = self
        doctor.configuration.senders =
            try Configuration.load(file: providers.writeConfiguration(), environment: [:]).senders
        if case .wns(var wns) = doctor.configuration.senders[Platform("wns")] {
            wns.clientSecretExpires = Date() + 86_400
            doctor.configuration.senders[Platform("wns")] = .wns(wns)
        }
        let authority = try TestAuthority()
        let identity = try authority.makeIdentity(CertificateContent(commonNames: ["a"], usage: .server))
        let files = (self.folder.file("cert.pem"), self.folder.file("key.pem"))
        try identity.certificate.write(toFile: files.0, atomically: true, encoding: .utf8)
        try self.folder.writeSecret(identity.privateKey, to: "key.pem")
        doctor.configuration.tls = .init(identity: .init(certificate: files.0, privateKey: files.1))
        let examined = doctor
        let findings = try await providers.whileRunning { try await examined.examine(online: true) }
        #expect(findings["server.tls.certificate"]?.text.hasPrefix("valid until ") == true)
        #expect(findings["senders.wns.clientSecretFile"]?.grade == .warn)
        #expect(findings["senders.apns"]?.text == "\(providers.apns.endpoint) answers with 405")
        #expect(findings.values.allSatisfy { $0.grade != .fail }, "\(findings)")

        try FileManager.default.removeItem(atPath: self.folder.file("AuthKey.p8"))
        let later = try await examined.examine(online: true)
        #expect(later["senders.apns"]?.grade == .fail)
        // The simulated providers have ended, so nothing listens at their addresses now.
        #expect(later["senders.fcm"]?.text.contains("cannot be reached") == true)
    }

    /// Only the provider can tell whether it accepts the credentials.
    @Test func credentialsThatTheProviderRefusesFailAlone() async throws {
        let providers = try Providers(folder: self.folder.path, names: ["apns", "fcm"])
        var doctor = self
        doctor.configuration.senders =
            try Configuration.load(file: providers.writeConfiguration(), environment: [:]).senders
        let sound = doctor.configuration
        if case .apns(var apns) = sound.senders[Platform("apns")] {
            apns.teamID = "OTHERTEAM1"
            doctor.configuration.senders[Platform("apns")] = .apns(apns)
        }
        let wrong = doctor.configuration
        let (before, after) = try await providers.whileRunning {
            (
                try await Doctor(configuration: sound).examine(online: true),
                try await Doctor(configuration: wrong).examine(online: true)
            )
        }
        for name in ["apns", "fcm"] {
            let text = "the provider accepts the credentials of the lane \(name)"
            #expect(before.contains(Finding(.ok, "senders.\(name)", text)), "\(before)")
        }
        let text = "the provider refuses the credentials of the lane apns: InvalidProviderToken"
        #expect(after.filter { $0.subject == "senders.apns" } == [Finding(.fail, "senders.apns", text)], "\(after)")
    }

    /// How many seconds a provider's clock is behind this machine's, and the doctor's grade. A
    /// difference of less than a minute does not count.
    @Test(arguments: [(0.0, Finding.Grade.ok), (-100, .warn), (-4500, .fail), (4500, .fail)])
    mutating func clockIsComparedWithThatOfTheProviders(ahead: TimeInterval, grade: Finding.Grade) async throws {
        let providers = try Providers(folder: self.folder.path) { _ in
            var options = SimulatorOptions()
            options.now = { Date() - ahead }
            return options
        }
        self.configuration.senders =
            try Configuration.load(file: providers.writeConfiguration(), environment: [:]).senders
        let examined = self
        let finding = try await providers.whileRunning { try await examined.examine(online: true)["clock"] }
        #expect(finding?.grade == grade, "\(String(describing: finding))")
        guard grade == .fail else { return }
        let text = "is 75 minutes \(ahead > 0 ? "ahead of" : "behind") that of localhost, which may refuse tokens"
        #expect(finding?.text.hasPrefix(text) == true, "\(String(describing: finding))")
    }

    /// The form of a sender's pushes, and whether these can have the badge of `badge: unread`.
    @Test(arguments: [
        (AppleEnvelope.background, false), (.voip, false), (.alert(AlertPlaceholder()), true),
    ])
    func aBadgeWithoutEffectIsWarnedAbout(envelope: AppleEnvelope, hasBadge: Bool) throws {
        var apns = SenderConfiguration.APNs(keyFile: "k", keyID: "i", teamID: "t", topic: "a.b", envelope: envelope)
        let name = Platform("apns")
        #expect(SenderConfiguration.apns(apns).badgeFinding(name: name) == nil)
        apns.sendsUnread = true
        let finding = SenderConfiguration.apns(apns).badgeFinding(name: name)
        #expect((finding == nil) == hasBadge)
        if !hasBadge { #expect(finding?.description.hasPrefix("warn senders.apns.badge: unread") == true) }
    }

    /// Before the first start there is no keyring, and nothing is wrong with that.
    @Test mutating func aRoleThatMayNotCreateTablesIsBlamedAndTheKeyringIsNot() async throws {
        let database = try PostgreSQLCluster.shared.newDatabase()
        let role = "\(database.database)_guest"
        let sql = "create role \(role) login; revoke create on schema public from public"
        try BlockingConnection(database).execute(sql)
        self.configuration.database = "\(database)".replacing("postgres@", with: "\(role)@")
        self.configuration.place = Configuration.place(of:)
        let findings = try await self.examine()
        #expect(findings["database"]?.text.contains("the role \(role) may not create tables") == true, "\(findings)")
        #expect(findings["keyring"]?.grade == .warn, "\(findings)")
    }

    @Test(arguments: [(false, "storage failed"), (true, "PostgreSQL does not answer")])
    mutating func aStoreThatDoesNotWorkIsNamedToStrangers(isShared: Bool, text: String) async throws {
        if isShared {
            self.configuration.database = try PostgreSQLCluster.shared.newDatabaseText()
            self.configuration.place = Configuration.place(of:)
        }
        let store = try self.configuration.openStore()
        #expect(store.troubles == [])
        await store.close()
        #expect(store.troubles == [text])
    }

    @Test func pushesWithoutASenderAreWarnedAbout() throws {
        var (waiting, done) = (Tally(), Tally())
        (waiting.enqueued, waiting.accepted, done.enqueued, done.failed) = (3, 1, 2, 2)
        let tallies = ["gone/part": waiting, "bank:apns": waiting, "stream": waiting, "old": done]
        let findings = Doctor(configuration: self.configuration).lanesWithoutSender(tallies)
        let end = "which has no sender; configure the sender again, or they expire"
        #expect(
            findings.map(\.description) == [
                "warn apps.bank.senders.apns: 2 pushes wait in the lane bank:apns, \(end)",
                "warn senders.gone: 2 pushes wait in the lane gone/part, \(end)",
            ]
        )
    }

    /// If the pause of a lane (queue of pushes) ends by itself, the doctor reports a warning and
    /// not a failure.
    @Test(arguments: [("misconfigured", Finding.Grade.fail), ("outage", .warn), ("unheard-of", .warn)])
    func aPausedLaneIsReported(cause: String, grade: Finding.Grade) throws {
        let json = #"""
            {"StartedAt":"S","Troubles":[],"Lanes":[{"Name":"fcm","Pause":null},{"Name":"apns/sandbox",
            "Pause":{"Cause":"\#(cause)","Reason":"R","Since":"A","Until":"B"}}]}
            """#
        let doctor = Doctor(configuration: self.configuration)
        let text = "the running server has paused the lane apns/sandbox since A, \(cause): R"
        #expect(try doctor.findings(in: JSONValue(reading: Array(json.utf8))) == [Finding(grade, "senders.apns", text)])
        let sound = try JSONValue(reading: Array(#"{"StartedAt":"S","Troubles":[],"Lanes":[]}"#.utf8))
        #expect(doctor.findings(in: sound).map(\.description) == ["ok   server: runs since S, and no lane is paused"])
        let full = try JSONValue(reading: Array(#"{"Troubles":["the disk is full"],"Lanes":[]}"#.utf8))
        #expect(doctor.findings(in: full).map(\.description) == ["fail server: the disk is full"])
    }

    @Test func aLaneThatItsSenderHasNoLongerIsReported() throws {
        let json = #"""
            {"StartedAt":"S","Troubles":[],"Lanes":[{"Name":"stream","Pending":9,"HasSender":true,"Pause":null},
            {"Name":"stream/old","Pending":2,"HasSender":false,"Pause":null},
            {"Name":"stream/empty","Pending":0,"HasSender":false,"Pause":null},
            {"Name":"gone","Pending":1,"HasSender":false,"Pause":null}]}
            """#
        let findings = Doctor(configuration: self.configuration).findings(in: try JSONValue(reading: Array(json.utf8)))
        let end = "which has no sender; configure the sender again, or they expire"
        #expect(findings.map(\.description) == ["warn senders.stream: 2 pushes wait in the lane stream/old, \(end)"])
    }

    @Test func anAllowedOriginWithoutTLSIsWarnedAbout() async throws {
        var doctor = self
        let origins = ["https://app.example", "http://localhost:3000", "http://app.example"]
        doctor.configuration.server.allowedOrigins = Set(origins.compactMap { WebOrigin($0) })
        let finding = try #require(try await doctor.examine()["server.allowedOrigins"])
        #expect(finding.grade == .warn)
        #expect(finding.text.hasPrefix("http://app.example has no TLS"), "\(finding)")
        #expect(doctor.configuration.risks.count == 1)
        doctor.configuration.server.allowedOrigins = Set(origins.dropLast().compactMap { WebOrigin($0) })
        #expect(try await doctor.examine()["server.allowedOrigins"] == nil)
    }

    @Test(arguments: [
        ("log: {level: info}\n", 0, "ok   configuration: c.yaml"), ("nonsense: 1\n", 1, "fail configuration: c.yaml:1"),
    ])
    func theCommandPrintsALinePerCheckAndFailsIfOneFails(yaml: String, code: Int32, expected: String) async throws {
        try yaml.write(toFile: self.folder.file("c.yaml"), atomically: true, encoding: .utf8)
        let ended = try await Daemon.run(["doctor", "--config", "c.yaml"], in: self.folder)
        #expect(ended.code == code, "\(ended.output)")
        #expect(ended.output.hasPrefix(expected), "\(ended.output)")
        #expect(ended.output.split(separator: "\n").allSatisfy { $0.contains(#/^(ok  |warn|fail) \S+: /#) })
    }
}
