import Cryptography
import Foundation
import PushTesting
import Testing

/// A test runs or checks each block of code in the documentation. CONTRIBUTING.md gives the reason
/// for each command that is not tested.
@Suite(.timeLimit(.minutes(5))) struct SnippetTests {
    private struct Snippet {
        let page: String
        let language: String
        let text: String
        /// The text of the comment in the line before the block; empty if there is no comment.
        let mark: String
    }

    /// For a page and a language, the file that tests the page's blocks in this language. Other
    /// tests run commands and configurations (`GuideTests`), and check the output of commands.
    private static let trials = [
        "README.md swift": "scripts/apple-snippets", "README.md kotlin": "scripts/android-snippets",
        "README.md js": Self.name, "docs/backends.md python": "Clients/python/tests/test_guide.py",
        "docs/end-to-end.md python": "Clients/python/tests/test_guide.py",
        "docs/web.md html": "scripts/sealpost_e2e/programs/web_client.py",
        "docs/android.md java": "scripts/android-snippets", "docs/android.md kotlin": "scripts/android-snippets",
        "docs/android.md xml": Self.name, "docs/frameworks.md java": "scripts/android-snippets",
        "docs/frameworks.md swift": "scripts/apple-snippets", "docs/frameworks.md xml": Self.name,
        "docs/frameworks.md ts": "Clients/web/tests/package.test.mjs",
        "docs/frameworks.md csharp": "scripts/android-snippets",
        "docs/errors.md json": "Tests/PushServerTests/DocumentedErrorsTests.swift",
        "docs/http.md http": "Tests/PushServerTests/SigningTests.swift",
        "docs/operate/limits.md http": "Tests/PushServerTests/QuotaTests.swift",
        "docs/operate/events.md json": "Tests/EndToEndTests/EventTests.swift",
        "docs/operate/log-and-audit.md logrotate": "Tests/EndToEndTests/LogFileTests.swift",
        "docs/operate/postgresql.md sql": "Tests/PushPostgreSQLTests/DayKeyStoreTests.swift",
        "docs/scale.md sql": "Tests/PushPostgreSQLTests/ForeignRoleTests.swift",
        "docs/providers.md json": "Tests/PushSendersTests/APNsTests.swift", "docs/providers.md js": Self.name,
        "docs/providers.md python": Self.name, "docs/web.md js": Self.name, "docs/web.md nginx": Self.name,
    ]
    private static let name = "Tests/EndToEndTests/SnippetTests.swift"
    private static let shells: Set = ["bash", "sh", "shell", "console"]

    private static func snippets() throws -> [Snippet] {
        let block = /(?:<!-- ([^\n]*) -->\n)?```([a-z]+)\n((?s).*?)```/
        return try GuideTests.allPages().flatMap { page in
            try Repository.text(of: page).matches(of: block).map { match in
                Snippet(
                    page: page,
                    language: String(match.output.2),
                    text: String(match.output.3),
                    mark: String(match.output.1 ?? "")
                )
            }
        }
    }

    private static func snippets(_ language: String) throws -> [Snippet] {
        try Self.snippets().filter { $0.language == language }
    }

    // MARK: All of them

    @Test func eachBlockNamesItsLanguage() throws {
        for page in try GuideTests.allPages() {
            // A block begins with a fence that names a language, and ends with a fence without
            // one.
            let fences = try Repository.text(of: page).matches(of: /(?m)^ *```(.*)\n((?s).*?)^ *```$/)
            for fence in fences {
                #expect(fence.output.1.wholeMatch(of: /[a-z]+/) != nil, "\(page): \(fence.output.0.prefix(80))")
            }
        }
    }

    @Test func eachBlockIsTestedSomewhere() throws {
        var unused = Set(Self.trials.keys)
        for snippet in try Self.snippets() where !Self.shells.contains(snippet.language) {
            if ["text", "yaml"].contains(snippet.language) { continue }
            let key = "\(snippet.page) \(snippet.language)"
            unused.remove(key)
            let trial = try #require(Self.trials[key], "nothing tries \(key): \(snippet.text.prefix(80))")
            let page = snippet.page.split(separator: "/").last ?? ""
            #expect(try Repository.text(of: trial).contains(page), "\(trial) does not know \(page)")
        }
        #expect(unused.isEmpty)
    }

    /// The comment before a block can be a name. A test or a program must then look for the block
    /// by this name.
    @Test func eachCommandIsRunOrListedWithTheReasonWhyNot() throws {
        let list = try Repository.text(of: "CONTRIBUTING.md").matches(of: /\| `([^`]+\.md)` \| ([^|\n]+) \|/)
            .map { "\($0.output.1): \($0.output.2)" }
        var reasons: [String] = []
        let tests = try ["Tests", "scripts"].flatMap { folder in
            try [".swift", ".py"].flatMap { try Repository.files(under: folder, ending: $0) }
        }.map(\.text)
        for snippet in try Self.snippets() where Self.shells.contains(snippet.language) {
            #expect(snippet.language == "bash", "\(snippet.page) calls a shell \(snippet.language)")
            if snippet.mark == "run" {
                #expect(GuideTests.pages.contains(snippet.page), "the commands of \(snippet.page) are not run")
            } else if let reason = snippet.mark.firstMatch(of: /^not run: (.+)$/)?.output.1 {
                reasons.append("\(snippet.page): \(reason)")
            } else {
                var names = ["<!-- \(snippet.mark) -->", "block(\"\(snippet.mark)\")"]
                // The mark `run by …` names a test, which finds the block by its heading.
                if let test = snippet.mark.firstMatch(of: /^run by (\w+)$/)?.output.1 {
                    names.append("struct \(test) {")
                }
                let isLookedFor = tests.contains { text in names.contains { text.contains($0) } }
                #expect(!snippet.mark.isEmpty && isLookedFor, "\(snippet.page): no test looks for it: \(snippet.text)")
            }
        }
        #expect(Set(reasons).subtracting(list).isEmpty, "not listed in CONTRIBUTING.md")
        #expect(Set(list).subtracting(reasons).isEmpty, "listed, and not there")
    }

    // MARK: Some of them

    @Test func eachModuleOfAPageIsJavaScript() async throws {
        let folder = try TemporaryFolder()
        for snippet in try Self.snippets("js") {
            let file = folder.file("snippet.mjs")
            try snippet.text.write(toFile: file, atomically: true, encoding: .utf8)
            let ended = try await ChildProcess("/usr/bin/env", ["node", "--check", file], in: folder.path).end()
            #expect(ended.code == 0, "\(snippet.page): \(ended.errors)")
        }
    }

    @Test func eachFileOfAnAppIsXML() async throws {
        let folder = try TemporaryFolder()
        for snippet in try Self.snippets("xml") {
            // The block is a part of a manifest. It has neither a root element nor a declaration
            // of the prefix `android`.
            let android = "http://schemas.android.com/apk/res/android"
            let text = "<manifest xmlns:android=\"\(android)\">\(snippet.text)</manifest>"
            let file = folder.file("snippet.xml")
            try text.write(toFile: file, atomically: true, encoding: .utf8)
            let ended = try await ChildProcess(
                "/usr/bin/env",
                ["python3", "-c", "import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])", file],
                in: folder.path
            ).end()
            #expect(ended.code == 0, "\(snippet.page): \(ended.errors)")
        }
    }

    @Test func theGuidesWebhookReceiverVerifiesSignatures() async throws {
        let snippet = try #require(try Self.snippets("python").first { $0.page == "docs/providers.md" })
        let (key, body) = (Data(repeating: 7, count: 32), #"{"secureId":"7"}"#)
        let timestamp = Int(Date().timeIntervalSince1970)
        let signed = HMAC<SHA256>.authenticationCode(
            for: Data("msg-1.\(timestamp).\(body)".utf8),
            using: SymmetricKey(data: key)
        )
        let signature = Data(signed).base64EncodedString()
        let script = """
            \(snippet.text)
            def ask(body, signature, at, secret="whsec_\(key.base64EncodedString())"):
                headers = {"webhook-id": "msg-1", "webhook-timestamp": str(at), "webhook-signature": signature}
                return verified(headers, body.encode(), secret)
            good = "v1,\(signature)"
            print(ask('\(body)', good, \(timestamp)), ask('\(body)', "v1,x " + good, \(timestamp)),
                ask('\(body) ', good, \(timestamp)), ask('\(body)', good, \(timestamp - 400)),
                ask('\(body)', "v1,x", \(timestamp)), ask('\(body)', good, \(timestamp), "whsec_AAAA"))
            """
        let ended = try await ChildProcess("/usr/bin/env", ["python3", "-c", script], in: "/tmp").end()
        #expect(ended.output == "True True False False False False\n", "\(ended.errors)")
    }

    @Test func thePageForBrowsersIsLaidOutAndServedAsTheGuideSays() async throws {
        let folder = try TemporaryFolder()
        let port = try QuickStartTests.freePort()
        let text = try Repository.text(of: "docs/web.md")
        let copy = try #require(text.firstMatch(of: /<!-- layout -->\n```bash\n((?s).*?)```/)).output.1
        let site = folder.file("messages")
        let copied = try await ChildProcess(
            "/bin/bash",
            ["-ec", String(copy).replacing("/srv/messages", with: site)],
            in: Repository.root.path
        ).end()
        #expect(copied.code == 0, "\(copied.errors)")
        for name in ["index.html", "sealpost/sealpost.js", "sealpost/sealpost-worker.js"] {
            #expect(FileManager.default.fileExists(atPath: "\(site)/\(name)"), "\(name)")
        }
        let server = try #require(try Self.snippets("nginx").first).text
            .replacing("/srv/messages", with: site).replacing("listen 443 ssl", with: "listen 127.0.0.1:\(port) ssl")
            .replacing("/etc/ssl/messages", with: folder.file("messages"))
        let configuration = """
            pid nginx.pid; error_log stderr;
            events {}
            http {
                access_log off;
                \(server)
            }
            """
        try configuration.write(toFile: folder.file("nginx.conf"), atomically: true, encoding: .utf8)
        let tested = try await ChildProcess(
            "/bin/bash",
            [
                "-ec",
                """
                openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -keyout messages.key -out messages.pem
                PATH="$PATH:/usr/sbin" nginx -t -p . -c nginx.conf
                """,
            ],
            in: folder.path
        ).end()
        #expect(tested.code == 0, "\(tested.errors)")
    }
}
