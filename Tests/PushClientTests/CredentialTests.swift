import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

/// Tests how a client signs in, and how often.
@Suite(.timeLimit(.minutes(5))) struct CredentialTests {
    private static let right = "Basic \(Data("alice:correct horse".utf8).base64EncodedString())"

    /// Returns the script of a server that accepts only the right password.
    private static func door(_ key: SigningKey? = nil) -> ScriptedPeer.Script {
        { request, _ in
            guard request.fields["authorization"] == Self.right else {
                return .answer(PeerAnswer(to: request, .unauthorized, key: key))
            }
            let session = #"{"Name":"alice","Account":"\#(PeerAnswer.account)"}"#
            let body = request.path.hasSuffix("/api/sessions/current") ? session : Samples.item(7)
            return .answer(PeerAnswer(to: request, body: body, key: key))
        }
    }

    @Test func aPasswordIsSentWithTheFirstRequest() async throws {
        try await ScriptedPeer.run(Self.door()) { peer in
            let client = peer.client(.basic(username: "alice", password: "correct horse"))
            _ = try await client.notification(7)
            #expect(peer.requests.map { $0.fields["authorization"] } == [Self.right, Self.right])
        }
    }

    @Test func aTokenIsSentWithTheFirstRequest() async throws {
        try await ScriptedPeer.run(Self.door()) { peer in
            let client = peer.client(.token("spt_1"))
            await unauthorized { try await client.notification(7) }
            #expect(peer.requests.map { $0.fields["authorization"] } == ["Bearer spt_1"])
        }
    }

    @Test(arguments: [nil, SigningKey()])
    func aChallengeIsAnsweredOnceForAllCalls(key: SigningKey?) async throws {
        let options = PushClient.Options(testing: key.map { [$0.publicKey] } ?? [])
        try await ScriptedPeer.run(Self.door(key)) { peer in
            let client = peer.client(.challenged(username: "alice", password: "correct horse"), options: options)
            for _ in 0..<3 { _ = try await client.notification(7) }
            #expect(peer.requests.map { $0.fields["authorization"] } == [nil] + Array(repeating: Self.right, count: 4))
            #expect(Set(peer.requests.map(\.token)).count == 5)
        }
    }

    /// The server answers 401 to all credentials.
    @Test func aRefusedCredentialIsNotTriedAgain() async throws {
        try await ScriptedPeer.run({ request, _ in .answer(PeerAnswer(to: request, .unauthorized)) }) { peer in
            let asked = peer.client(.challenged(username: "alice", password: "wrong"))
            await unauthorized { try await asked.notification(7) }
            #expect(peer.requests.count == 2)
            let unasked = peer.client(.basic(username: "alice", password: "wrong"))
            await unauthorized { try await unasked.notification(7) }
            #expect(peer.requests.count == 3)
            await unauthorized { try await peer.client(.token("t")).sync() }
            #expect(peer.requests.count == 4)
        }
    }

    @Test(arguments: [
        #"NTLM"#, #"Negotiate"#, #"Digest realm="a", nonce="b", qop="auth""#, #"Bearer realm="a""#, nil,
    ])
    func onlyBasicChallengesAreAnswered(challenge: String?) async throws {
        let script: ScriptedPeer.Script = { request, _ in
            var answer = PeerAnswer(to: request, .unauthorized)
            answer["WWW-Authenticate"] = challenge
            return .answer(answer)
        }
        try await ScriptedPeer.run(script) { peer in
            let client = peer.client(.challenged(username: "alice", password: "correct horse"))
            await unauthorized { try await client.notification(7) }
            #expect(peer.requests.map { $0.fields["authorization"] } == [nil])
        }
    }

    /// A captive portal asks for a password, and must not get one.
    @Test func aPasswordIsNotSentForAnUnauthenticatedChallenge() async throws {
        let key = SigningKey()
        for options in [PushClient.Options(testing: []), .init(testing: [key.publicKey])] {
            try await ScriptedPeer.run({ request, _ in
                var answer = PeerAnswer(to: request, .unauthorized)
                if (options.signatures == .unsigned) { answer["MyToken"] = "20" }
                return .answer(answer)
            }) { peer in
                let client = peer.client(.challenged(username: "alice", password: "correct horse"), options: options)
                let found = await interference { try await client.notification(7) }
                #expect(found?.kind == ((options.signatures == .unsigned) ? .wrongEcho : .signature))
                #expect(peer.requests.map { $0.fields["authorization"] } == [nil])
            }
        }
    }

    @Test func theServersPathPrecedesTheAPIPath() async throws {
        try await ScriptedPeer.run(Self.door()) { peer in
            let client = PushClient(
                server: peer.url.appending(path: "push/"),
                credentials: .basic(username: "alice", password: "correct horse"),
                options: .init(testing: [])
            )
            _ = try await client.notification(7)
            #expect(peer.requests.map(\.target) == ["/push/api/sessions/current", "/push/api/notifications/7"])
        }
    }

    /// Without TLS, somebody between client and server could read the password.
    @Test(
        arguments: [
            ("http://push.example", .unsigned, .insecureServer), ("http://128.0.0.1:1", .unsigned, .insecureServer),
            ("http://127.0.0.1.example:1", .unsigned, .insecureServer), ("http://127.1:1", .unsigned, .insecureServer),
            ("http://localhost.example:1", .unsigned, .insecureServer),
            ("HTTP://push.example", .unsigned, .insecureServer),
            ("http://127.0.0.1:1", .unsigned, nil), ("http://127.255.0.9:1", .unsigned, nil),
            ("http://[::1]:1", .unsigned, nil), ("http://LOCALHOST:1", .unsigned, nil),
            ("http://127.0.0.1:1", .pinned([SigningKey().publicKey]), .insecureServer),
            ("https://127.0.0.1:1", .pinned([SigningKey().publicKey]), nil), ("https://127.0.0.1:1", .unsigned, nil),
            ("https://127.0.0.1:1", .pinned([]), .noSignatureKeys),
            ("http://127.0.0.1:1", .pinned([]), .noSignatureKeys),
        ] as [(String, PushClient.Signatures, PushClientError?)]
    )
    func httpIsAllowedOnlyForLoopbackWithoutSignatureKeys(
        text: String,
        signatures: PushClient.Signatures,
        error: PushClientError?
    ) async throws {
        let client = PushClient(
            server: try #require(URL(string: text)),
            credentials: .token("t"),
            options: PushClient.Options(signatures: signatures)
        )
        let found = await #expect(throws: PushClientError.self) { try await client.sync() }
        // Nothing listens on the port of an accepted address.
        if error == nil, case .offline? = found { return }
        #expect(found == error)
    }

    @Test func pinnedCertificatesRequireHTTPS() async throws {
        let pin = try #require(PushClient.KeyPin(sha256: Data(count: 32).base64EncodedString()))
        let client = PushClient(
            server: try #require(URL(string: "http://127.0.0.1:1")),
            credentials: .token("t"),
            options: PushClient.Options(signatures: .unsigned, serverTrust: .pinned([pin]))
        )
        await #expect(throws: PushClientError.insecureServer) { try await client.sync() }
    }

    @Test(arguments: [
        "ftp://example.org", "example.org", "http:///api", "file:///etc", "https://bob@push.example",
        "https://bob:secret@push.example", "https://:secret@push.example", "https://push.example?a=b",
        "https://push.example/?", "https://push.example/api#a", "https://push.example#",
    ])
    func anInvalidServerAddressIsRefused(text: String) async throws {
        let client = PushClient(
            server: try #require(URL(string: text)),
            credentials: .token("t"),
            options: .init(testing: [])
        )
        await #expect(throws: PushClientError.invalidServer) { try await client.sync() }
    }

    /// Values that a request cannot have, with the name that their error begins with.
    @Test(
        arguments: [
            (.basic(username: "a:b", password: "p"), nil, "username"),
            (.challenged(username: ":", password: "p"), nil, "username"),
            (.basic(username: "", password: "p"), nil, "account"), (.token("t", account: ""), nil, "account"),
            (.token(""), nil, "token"), (.token("a b"), nil, "token"), (.token("a\r\nX: b"), nil, "token"),
            (.token("a\u{0}"), nil, "token"), (.token("ä"), nil, "token"), (.token("a\u{7F}"), nil, "token"),
            (.tokens(account: "a") { _ in "a\n" }, nil, "token"), (.token("t"), "", "app"),
            (.token("!~"), "shop", nil), (.basic(username: "a", password: "b:c"), nil, nil),
        ] as [(PushClient.Credentials, String?, String?)]
    )
    func impossibleValuesAreRefused(credentials: PushClient.Credentials, app: String?, name: String?) async throws {
        try await ScriptedPeer.run({ request, _ in .answer(PeerAnswer(to: request, status: 204)) }) { peer in
            let store = PushClient.Store.memory
            let client = peer.client(credentials, options: .init(testing: [], app: app), store: store)
            var found: String?
            do {
                try await client.dismiss(7)
            } catch PushClientError.invalidValue(let text) {
                found = String(text.prefix { $0 != ":" })
            } catch is PushClientError {
                // The peer's answer is no session.
            }
            #expect(found == name)
            #expect(peer.requests.isEmpty == (name != nil))
            // The sign-out leaves no order that a correct client cannot carry out. With the wrong
            // options this call throws.
            _ = try? await client.signOut()
            #expect(try await PushClient.finishSignOuts(server: peer.url, options: .init(testing: []), store: store))
        }
    }
}
