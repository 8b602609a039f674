import Cryptography
import Foundation
import PushAPI
import PushClient
import PushTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Runs the examples for publishers and receivers in the folder `examples` unchanged.
@Suite(.timeLimit(.minutes(5))) struct ExamplesTests {
    private static let examples = Repository.file("examples").path

    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    @Test(arguments: ["publish.sh", "publish.py", "publish.mjs"])
    func aPublisherReachesOneUser(name: String) async throws {
        for (user, role) in [("alice", "device"), ("paul", "publisher")] {
            let arguments = ["user", "add", user, "--role", role, "--password-stdin"]
            #expect(try await Daemon.run(arguments, in: self.folder, input: "correct horse\n").code == 0)
        }
        let token = try await Daemon.run(["token", "create", "paul", "--scope", "send"], in: self.folder).output
            .trimmingCharacters(in: .newlines)
        let daemon = try await Daemon(in: self.folder)
        let text = "It's \"ready\" \\\tnow.\r\nPlease call.\n"
        let address = "http://127.0.0.1:\(daemon.port)"
        func publish(to user: String, with token: String, at server: String) async throws -> ChildProcess.Ended {
            try await ChildProcess(
                "\(Self.examples)/\(name)",
                [server, user, text],
                in: self.folder.path,
                // A proxy would get the token in clear; nobody listens at this one.
                environment: ["SEALPOST_TOKEN": token, "PATH": "/usr/bin:/bin", "http_proxy": "http://127.0.0.1:9"]
            ).end()
        }
        let sent = try await publish(to: "alice", with: token, at: address)
        #expect(sent.code == 0, "\(sent.errors)")
        let path = sent.output.trimmingCharacters(in: .newlines)
        let id = try #require(Int64(path.split(separator: "/").last ?? ""))
        let client = PushClient(
            server: try daemon.server,
            credentials: .basic(username: "alice", password: "correct horse"),
            options: .init(testing: [])
        )
        #expect(try await client.notification(id).value.payload == .string(text))
        let unknown = try await publish(to: "nobody", with: token, at: address)
        #expect(unknown.code != 0)
        #expect(unknown.errors.contains("unknown-user"), "\(unknown.errors)")
        #expect(try await publish(to: "alice", with: "spt_none", at: address).code != 0)
        // No example sends a token in clear to another machine.
        for server in ["http://192.0.2.1", "http://localhost:1@192.0.2.1:80"] {
            let clear = try await publish(to: "alice", with: token, at: server)
            #expect(clear.code != 0 && clear.errors.contains(/clear|address|URL/), "\(server): \(clear.errors)")
        }
        // The examples accept an address of the own machine without a port, and then check the
        // name.
        for user in ["alice || username:paul", #"alice", "username:paul"#, ""] {
            let refused = try await publish(to: user, with: token, at: "http://localhost")
            let isRefused = refused.errors.contains("not the name of a user")
            #expect(refused.code != 0 && isRefused, "\(user): \(refused.errors)")
        }
        #expect(await daemon.terminate() == 0)
    }

    @Test func theReceiverAcceptsEachSignedMessageOnce() async throws {
        let key = SymmetricKey(size: .bits256)
        let secret = "whsec_" + key.withUnsafeBytes { Data($0).base64EncodedString() }
        try self.folder.writeSecret("\(secret)\n", to: "hook.secret")
        let receiver = try ChildProcess(
            "\(Self.examples)/webhook-receiver.py",
            ["--secret-file", "hook.secret", "--port", "0"],
            in: self.folder.path,
            environment: ["PATH": "/usr/bin:/bin"]
        )
        let port = try #require(await receiver.output(until: "\n").firstMatch(of: /port (\d+)/)?.output.1)
        let now = Int(Date().timeIntervalSince1970)
        func send(
            _ id: String,
            at time: Int,
            signedFor signed: String? = nil,
            _ body: String = #"{"secureId":"7","handle":"abcd"}"#
        ) async throws -> Int {
            let content = Data("\(signed ?? id).\(time).\(body)".utf8)
            let code = Data(HMAC<SHA256>.authenticationCode(for: content, using: key)).base64EncodedString()
            var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/push")))
            request.httpMethod = "POST"
            request.httpBody = Data(body.utf8)
            request.setValue(id, forHTTPHeaderField: "webhook-id")
            request.setValue("\(time)", forHTTPHeaderField: "webhook-timestamp")
            request.setValue("v1,\(code)", forHTTPHeaderField: "webhook-signature")
            let (_, response) = try await URLSession.shared.data(for: request)
            return try #require(response as? HTTPURLResponse).statusCode
        }
        #expect(try await send("first", at: now) == 204)
        #expect(try await send("first", at: now) == 204)
        #expect(try await send("old", at: now - 1000) == 401)
        #expect(try await send("forged", at: now, signedFor: "another") == 401)
        #expect(try await send("claim", at: now, #"{"confirmation":"c0de","handle":"abcd"}"#) == 204)
        // An operator may name the receiver of pushes in `events.webhook`, too, so the example
        // must accept events.
        let event = """
            {"Number":1,"At":"2026-11-29T08:00:00Z","Kind":"failed","Notification":7,"Device":null,"User":"alice",\
            "App":"default","Platform":"apns","Reason":"BadDeviceToken"}
            """
        let events = #"{"type":"sealpost.events","timestamp":"2026-11-29T08:00:00Z","data":{"Events":[\#(event)]}}"#
        #expect(try await send("events", at: now, events) == 204)
        receiver.signal(SIGTERM)
        #expect(await receiver.end().output == "wake abcd for 7\ntell abcd the code c0de\nfailed 7\n")
    }
}
