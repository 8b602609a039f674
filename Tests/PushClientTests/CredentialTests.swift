import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

/// How a client shows who it is, and how often.
@Suite(.timeLimit(.minutes(5))) struct CredentialTests {
    private static let right = "Basic \(Data("alice:correct horse".utf8).base64EncodedString())"

    /// A server that lets in who shows the right password.
    private static func door(_ key: SigningKey? = nil) -> ScriptedPeer.Script {
        { request, _ in
            request.fields["authorization"] == Self.right
                ? .answer(PeerAnswer(to: request, body: Samples.item(7), key: key))
                : .answer(PeerAnswer(to: request, .unauthorized, key: key))
        }
    }

    @Test func aPasswordIsShownUnasked() async throws {
        try await ScriptedPeer.run(Self.door()) { peer, client in
            _ = try await client.notification(7)
            #expect(peer.requests.map { $0.fields["authorization"] } == [Self.right])
        }
    }

    @Test func aTokenIsShownUnasked() async throws {
        try await ScriptedPeer.run(Self.door()) { peer in
            let client = peer.client(.token("spt_1"))
            await unauthorized { try await client.notification(7) }
            #expect(peer.requests.map { $0.fields["authorization"] } == ["Bearer spt_1"])
        }
    }

    @Test(arguments: [nil, SigningKey()])
    func aChallengeIsAnsweredOnceForAllCalls(key: SigningKey?) async throws {
        let options = PushClient.Options(signatureKeys: key.map { [$0.publicKey] } ?? [])
        try await ScriptedPeer.run(Self.door(key)) { peer in
            let client = peer.client(.challenged(username: "alice", password: "correct horse"), options: options)
            for _ in 0..<3 { _ = try await client.notification(7) }
            #expect(peer.requests.map { $0.fields["authorization"] } == [nil, Self.right, Self.right, Self.right])
            #expect(Set(peer.requests.map(\.token)).count == 4)
        }
    }

    /// A server that always answers 401, whatever it is shown.
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
    func otherChallengesAreNotAnswered(challenge: String?) async throws {
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

    /// A portal that wants a password, and gets none.
    @Test func aPasswordIsNotShownToWhoOnlyAsksForIt() async throws {
        let key = SigningKey()
        for options in [PushClient.Options(), .init(signatureKeys: [key.publicKey])] {
            try await ScriptedPeer.run({ request, _ in
                var answer = PeerAnswer(to: request, .unauthorized)
                if options.signatureKeys.isEmpty { answer["MyToken"] = "20" }
                return .answer(answer)
            }) { peer in
                let client = peer.client(.challenged(username: "alice", password: "correct horse"), options: options)
                let found = await interference { try await client.notification(7) }
                #expect(found?.kind == (options.signatureKeys.isEmpty ? .wrongEcho : .signature))
                #expect(peer.requests.map { $0.fields["authorization"] } == [nil])
            }
        }
    }

    @Test func aPasswordInTheServersAddressIsNotUsed() async throws {
        try await ScriptedPeer.run(Self.door()) { peer in
            let url = try #require(
                URL(string: peer.url.absoluteString.replacing("http://", with: "http://bob:secret@"))
            )
            let client = PushClient(server: url, credentials: .challenged(username: "alice", password: "correct horse"))
            _ = try await client.notification(7)
            #expect(peer.requests.map { $0.fields["authorization"] } == [nil, Self.right])
        }
    }

    @Test func theServersPathStandsBeforeThatOfTheApi() async throws {
        try await ScriptedPeer.run(Self.door()) { peer in
            let client = PushClient(
                server: peer.url.appending(path: "push/"),
                credentials: .basic(username: "alice", password: "correct horse")
            )
            _ = try await client.notification(7)
            #expect(peer.requests.map(\.target) == ["/push/api/notifications/7"])
        }
    }

    @Test(arguments: ["ftp://example.org", "example.org", "http:///api", "file:///etc"])
    func aServerThatIsNoneIsSaid(text: String) async throws {
        let client = PushClient(server: try #require(URL(string: text)), credentials: .token("t"))
        await #expect(throws: PushClientError.invalidServer) { try await client.sync() }
    }
}
