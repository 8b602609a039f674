import Foundation
import HTTPSignatures
import PushAPI
import PushServer
import PushTesting
import Testing

@testable import PushApplication

/// Signed answers as received over the wire, from the daemon and from nginx in front of it.
@Suite(.timeLimit(.minutes(5))) struct SignatureTests {
    /// A signed answer, which another implementation of HTTP signatures must verify.
    private struct Question: Encodable {
        let key: String
        let keyID: String
        let status: Int
        let body: Data
        let method: String
        let target: String
        let token: String
        let components: [String]
        let fields: [String: String]
    }

    private struct Verdict: Decodable {
        let error: String?
    }

    private struct Keys: Decodable {
        struct Key: Decodable {
            let kid: String
            let x: String
        }
        let keys: [Key]
    }

    private func publishedKeys(_ site: Site) async throws -> [VerificationKey] {
        let answer = try await site.curl(Paths.signatureKeys, as: "")
        let keys = try JSONDecoder().decode(Keys.self, from: Data(answer.body.utf8)).keys
        return try keys.map { key in
            let read = try #require(VerificationKey(base64URL: key.x))
            #expect(read.id == key.kid)
            return read
        }
    }

    private static func asking(
        _ token: String,
        keyID: String? = nil,
        _ coverage: SignatureCoverage = .exchange
    ) -> [String] {
        let field = ResponseVerifier.acceptSignature(keyID: keyID, coverage: coverage)
        return ["--header", "MyToken: \(token)", "--header", "Accept-Signature: \(field)"]
    }

    private func verify(
        _ answer: Site.Answer,
        to method: String = "GET",
        _ target: String,
        token: String,
        keys: [VerificationKey],
        _ coverage: SignatureCoverage = .exchange
    ) throws(SignatureFailure) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let query = parts.count > 1 ? parts[1] : nil
        let request = SignedRequest(method: method, path: parts[0], query: query, token: token)
        let message = SignedMessage(status: answer.status, body: answer.body.utf8, request: request) { name in
            answer.values(name)
        }
        try ResponseVerifier(keys: keys, coverage: coverage).verify(message, now: Date())
    }

    private static func components(_ coverage: SignatureCoverage, status: Int) -> [String] {
        let list = ["@status", status == 304 ? "etag" : "content-digest", #""mytoken";req"#]
        return coverage == .answer ? list : list + [#""@method";req"#, #""@path";req"#, #""@query";req"#]
    }

    @Test func signedAnswersVerifyWithTwoImplementations() async throws {
        _ = try await Site.run(.nginx, .tcp) { site in
            let keys = try await self.publishedKeys(site)
            let key = try #require(keys.first)
            var questions: [Question] = []
            for (port, coverage) in [
                (nil, SignatureCoverage.exchange), (site.daemon.port, .exchange), (site.daemon.port, .answer),
            ] {
                let posted = try await site.curl("/api/notifications", port: port, "--data", #""a secret""#)
                let id = try #require(posted.body.firstMatch(of: /"Id":(\d+)/)).output.1
                let path = "/api/notifications/\(id)"
                let tag = try #require(try await site.curl(path, port: port).values("ETag").first)
                try Data(count: 300_000).write(to: URL(fileURLWithPath: site.folder.file("tooLarge")))
                let requests: [(status: Int, method: String, path: String, user: String, options: [String])] = [
                    (200, "GET", path, "alice", []), (200, "HEAD", path, "alice", ["--head", "--output", "nothing"]),
                    (304, "GET", path, "alice", ["--header", "If-None-Match: \(tag)"]),
                    (200, "GET", "/healthz", "", []),
                    (200, "GET", "/healthz?", "", []), (200, "GET", "/healthz?a=b%20c&d+e;%c3%bc", "", []),
                    (200, "GET", "/api/notifications?limit=500", "alice", []),
                    (200, "GET", Paths.signatureKeys, "", []), (401, "GET", path, "", []),
                    (401, "GET", path, "nobody", []), (404, "GET", "/api/notifications/1", "alice", []),
                    (404, "GET", "/nothing", "", []), (404, "GET", "/a%20b;c+d/%c3%BC~?e", "", []),
                    (405, "PUT", "/readyz", "", ["--request", "PUT"]),
                    (400, "POST", "/api/notifications", "alice", ["--data", "{"]),
                    (403, "GET", "/api/users", "alice", []),
                    (413, "POST", "/api/notifications", "alice", ["--data-binary", "@tooLarge"]),
                    (200, "POST", "/api/notifications", "alice", ["--data", #""another""#]),
                    (201, "POST", "/api/notifications", "alice", ["--data", #"{"Payload":1}"#]),
                    (204, "DELETE", path, "alice", ["--request", "DELETE"]),
                ]
                for (number, request) in requests.enumerated() {
                    let token = "\(number)"
                    let answer = try await site.curl(
                        request.path,
                        as: request.user,
                        port: port,
                        options: request.options + Self.asking(token, coverage)
                    )
                    func verify(_ method: String, _ target: String, token: String) throws(SignatureFailure) {
                        try self.verify(answer, to: method, target, token: token, keys: keys, coverage)
                    }
                    #expect(answer.status == request.status, "\(request)")
                    #expect(throws: Never.self, "\(request)") {
                        try verify(request.method, request.path, token: token)
                    }
                    #expect(answer.values("Cache-Control") == ["no-store"])
                    #expect(throws: SignatureFailure.self) {
                        try verify(request.method, request.path, token: "\(number + 1)")
                    }
                    for (method, target) in [("OPTIONS", request.path), (request.method, "/other\(request.path)")] {
                        let isBelieved = (try? verify(method, target, token: token)) != nil
                        #expect(isBelieved == (coverage == .answer), "\(request)")
                    }
                    questions.append(
                        Question(
                            key: key.rawRepresentation.base64EncodedString(),
                            keyID: key.id,
                            status: answer.status,
                            body: Data(answer.body.utf8),
                            method: request.method,
                            target: request.path,
                            token: token,
                            components: Self.components(coverage, status: answer.status),
                            fields: Dictionary(
                                ["Content-Digest", "ETag", "Signature-Input", "Signature"].compactMap { name in
                                    answer.values(name).first.map { (name, $0) }
                                },
                                uniquingKeysWith: { first, _ in first }
                            )
                        )
                    )
                }
            }
            let verdicts = try await Oracle.answers(of: "signature_oracle.py", to: questions, as: Verdict.self)
            try #require(verdicts.count == questions.count)
            for (question, verdict) in zip(questions, verdicts) {
                #expect(verdict.error == nil, "\(question.status) \(question.fields)")
            }
        }
    }

    @Test func anEventStreamIsUnsignedAndItsRefusalIsSigned() async throws {
        _ = try await Site.run(.nginx, .tcp) { site in
            let keys = try await self.publishedKeys(site)
            let port = site.daemon.port
            let refused = try await site.curl("/api/stream", port: port, options: Self.asking("7"))
            #expect(refused.status == 404)
            try self.verify(refused, "/api/stream", token: "7", keys: keys)
            let registered = try await site.curl("/api/register", port: port, "--request", "POST")
            let id = registered.body.trimmingCharacters(in: ["\""])
            _ = try await site.curl(
                "/api/register/\(id)",
                port: port,
                "--request",
                "PUT",
                "--data",
                #"{"Platform":"stream"}"#
            )
            let head = try await site.curl("/api/stream", port: port, options: ["--head"] + Self.asking("7"))
            #expect(head.status == 200)
            #expect(head.values("Signature").isEmpty)
        }
    }

    @Test func signingKeysRotateWhileTheDaemonRuns() async throws {
        _ = try await Site.run(.nginx, .tcp) { site in
            let (folder, daemon) = (site.folder, site.daemon)
            let old = try await self.publishedKeys(site)
            let listed = try await Daemon.run(["signing-keys", "list"], in: folder)
            #expect(listed.output == "1  signs  \(old[0].id)  \(old[0].base64URL)\n")

            #expect(try await Daemon.run(["signing-keys", "rotate"], in: folder).code == 0)
            #expect(try await self.publishedKeys(site) == old, "not before SIGHUP")
            daemon.process.signal(SIGHUP)
            #expect(await daemon.process.errors(until: "signs=").contains("signing keys reloaded"))
            let both = try await self.publishedKeys(site)
            #expect(both.count == 2 && both[1] == old[0])
            // One client pins the old key, and requests a signature with that key. The other
            // client accepts any key.
            let pinned = try await site.curl("/healthz", options: Self.asking("1", keyID: old[0].id))
            try self.verify(pinned, "/healthz", token: "1", keys: old)
            let other = try await site.curl("/healthz", options: Self.asking("1"))
            try self.verify(other, "/healthz", token: "1", keys: [both[0]])

            #expect(try await Daemon.run(["signing-keys", "remove", "2"], in: folder).code == 1, "the one that signs")
            let file = folder.file("var/signing-keys")
            let good = try String(contentsOfFile: file, encoding: .utf8)
            for bad in ["", "1 AAAA\n"] {
                try bad.write(toFile: file, atomically: false, encoding: .utf8)
                daemon.process.signal(SIGHUP)
                let line = await daemon.process.errors(until: "error=")
                #expect(line.contains("signing key reload failed; the old keys stay in use"), "\(line)")
                #expect(try await self.publishedKeys(site) == both)
            }
            try good.write(toFile: file, atomically: false, encoding: .utf8)
            #expect(try await Daemon.run(["signing-keys", "remove", "1"], in: folder).code == 0)
            daemon.process.signal(SIGHUP)
            #expect(await daemon.process.errors(until: "signs=").contains("signing keys reloaded"))
            #expect(try await self.publishedKeys(site) == [both[0]])
            #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
        }
    }

    /// A new key would make apps that pinned the lost one refuse every answer, so only a command
    /// makes it.
    @Test(arguments: [true, false]) func lostKeysEndTheStartUntilACommandMakesNewOnes(isShared: Bool) async throws {
        let folder = try TemporaryFolder()
        let address = isShared ? try PostgreSQLCluster.shared.newDatabaseText() : "var/sealpost.db"
        func run(_ arguments: String...) async throws -> ChildProcess.Ended {
            let environment = ["SEALPOST_SERVER_LISTEN": "127.0.0.1:0", "SEALPOST_DATABASE": address]
            return try await Daemon.run(arguments, in: folder, environment: environment)
        }
        #expect(try await run("user", "add", "alice", "--no-password").code == 0)
        let first = try await run("signing-keys", "list").output
        try FileManager.default.removeItem(atPath: folder.file("var/signing-keys"))
        #expect(try await run("user", "add", "bob", "--no-password").code == 0)
        for command in ["serve", "doctor"] {
            let refused = try await run(command)
            #expect(refused.code == (command == "serve" ? 78 : 1))
            let text = refused.output + refused.errors
            #expect(text.contains("var/signing-keys is missing; restore it from a backup, or copy it"), "\(text)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.file("var/signing-keys")))
        let made = try await run("signing-keys", "rotate")
        #expect(made.code == 0 && made.output.hasPrefix("key 1 added to var/signing-keys"), "\(made)")
        #expect(try await run("signing-keys", "list").output != first)
        let daemon = try await Daemon(in: folder, settings: ["SERVER_LISTEN": "127.0.0.1:0", "DATABASE": address])
        #expect(await daemon.terminate() == 0)
    }

    @Test func noCommandShowsAPrivateKey() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("var/signing-keys")
        _ = try SigningKeyFile(file).loadOrCreate()
        var output = ""
        for command in [["rotate"], ["list"], ["remove", "1"], ["list"]] {
            let ended = try await Daemon.run(["signing-keys"] + command, in: folder)
            #expect(ended.code == 0)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            output += ended.output + ended.errors
            let secrets = text.matches(of: #/\d+ (\S{44})/#).map(\.output.1)
            #expect(!secrets.isEmpty)
            for secret in secrets { #expect(!output.contains(secret)) }
        }
    }
}

@Suite(.timeLimit(.minutes(5))) struct SigningKeyFileTests {
    private let folder: TemporaryFolder
    private var path: String { self.folder.file("var/signing-keys") }

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test func aNewFileIsPrivateToItsOwnerAndLoadsAgain() throws {
        let made = try SigningKeyFile(self.path).loadOrCreate()
        #expect(try FileManager.default.attributesOfItem(atPath: self.path)[.posixPermissions] as? Int == 0o600)
        #expect(try SigningKeyFile(self.path).loadOrCreate().keys.map(\.key.id) == made.keys.map(\.key.id))
    }

    @Test func aFileReadableByOthersIsRefused() throws {
        _ = try SigningKeyFile(self.path).loadOrCreate()
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: self.path)
        let error = #expect(throws: ConfigurationError.self) { try SigningKeyFile(self.path).loadOrCreate() }
        #expect("\(try #require(error))".contains("is readable by other users"))
    }

    @Test func aDamagedFileIsRefusedAndItsLineNamed() throws {
        _ = try SigningKeyFile(self.path).loadOrCreate()
        try "1 AAAA\n".write(toFile: self.path, atomically: false, encoding: .utf8)
        let error = #expect(throws: ConfigurationError.self) { try SigningKeyFile(self.path).loadOrCreate() }
        #expect("\(try #require(error))".contains("line 1 must be a number and 32 bytes"))
    }
}
