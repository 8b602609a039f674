import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

/// An impostor between the app and the server answers in the server's place, or changes the
/// server's answers.
@Suite(.timeLimit(.minutes(5))) struct InterferenceTests {
    /// The value of `Accept-Signature` that the client sends until it knows its account.
    private static func acceptSignature(_ nonce: String) -> String {
        ResponseVerifier.acceptSignature(
            keyID: Tampering.key.id,
            coverage: .account,
            otherwise: .exchange,
            nonce: nonce
        )
    }

    @Test(arguments: Tampering.all + Tampering.harmless, [nil, Tampering.key])
    func eachChangeOfAnAnswerHasItsVerdict(tampering: Tampering, key: SigningKey?) async throws {
        let options = PushClient.Options(testing: key.map { [$0.publicKey] } ?? [])
        try await ProtocolPeer.run(tampering.script(signing: key), options: options) { peer, client in
            try await tampering.expectVerdict(of: client, pinning: key)
            #expect(peer.requests.count == 1)
        }
    }

    /// An impostor returns an earlier answer, complete and unchanged, as the answer to a new
    /// request.
    @Test(arguments: [nil, Tampering.key])
    func replayedAnswerIsDetected(key: SigningKey?) async throws {
        let options = PushClient.Options(testing: key.map { [$0.publicKey] } ?? [])
        let first = Locked<PeerAnswer?>(nil)
        try await ProtocolPeer.run(
            { request, _ in
                .answer(
                    first.withLock { first in
                        let answer = first ?? PeerAnswer(to: request, body: Samples.item(7), key: key)
                        first = answer
                        return answer
                    }
                )
            },
            options: options
        ) { peer, client in
            let fresh = try await client.notification(7)
            #expect(fresh.date == nil)
            let found = await interference { try await peer.client(options: options).notification(7) }
            #expect(found?.kind == .wrongEcho)
        }
    }

    /// The impostor can calculate the echo, so it puts the right echo into the old answer.
    @Test func signedReplayWithTheRightEchoIsDetected() async throws {
        let options = PushClient.Options(testing: [Tampering.key.publicKey])
        let first = Locked<PeerAnswer?>(nil)
        try await ProtocolPeer.run(
            { request, _ in
                .answer(
                    first.withLock { first in
                        var answer = first ?? PeerAnswer(to: request, body: Samples.item(7), key: Tampering.key)
                        first = answer
                        answer["MyToken"] = request.echo
                        return answer
                    }
                )
            },
            options: options
        ) { peer, client in
            let fresh = try await client.notification(7)
            #expect(fresh.date == nil)
            let found = await interference { try await peer.client(options: options).notification(7) }
            #expect(found?.kind == .signature)
        }
    }

    /// A proxy requests something that does not exist, with the `MyToken` of the client's request.
    /// It returns the server's own 404 for that path.
    @Test func refusalOfAnotherRequestDeletesNothing() async throws {
        let options = PushClient.Options(testing: [Tampering.key.publicKey])
        let own: ProtocolPeer.Script = { request, _ in
            let body =
                request.path == "/api/notifications" ? Samples.list([Samples.item(7)], cursor: "C") : Samples.item(7)
            return .answer(PeerAnswer(to: request, body: body, key: Tampering.key))
        }
        try await ProtocolPeer.run(own, options: options) { peer, client in
            let fetched = try await client.notification(7)
            let inbox = try await client.sync()
            peer.play { request, _ in
                .answer(PeerAnswer(to: request.exchanged(for: "/nothing"), .notFound, key: Tampering.key))
            }
            for _ in 0..<2 {
                let cached = try await client.notification(7)
                #expect(cached.value == fetched.value)
                #expect(cached.date != nil)
            }
            let found = await interference { try await client.dismiss(7) }
            #expect(found?.kind == .signature)
            #expect(try await client.sync().value.notifications == inbox.value.notifications)
            // The client accepts the server's own refusal of its request, and deletes the
            // notification.
            peer.play { request, _ in .answer(PeerAnswer(to: request, .notFound, key: Tampering.key)) }
            await #expect(throws: PushClientError.problem(Problem(.notFound))) { try await client.notification(7) }
            peer.play { _, _ in .hangUp }
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.notification(7) }
        }
    }

    @Test func insufficientCoverageIsDetected() async throws {
        let options = PushClient.Options(testing: [Tampering.key.publicKey])
        try await ProtocolPeer.run(
            { request, _ in
                .answer(PeerAnswer(to: request, body: Samples.item(7), key: Tampering.key, coverage: .answer))
            },
            options: options
        ) { peer, client in
            let found = await interference { try await client.notification(7) }
            #expect(found?.kind == .insufficientCoverage)
            #expect(found?.seen?.contains(#"over ("@status" "content-digest" "mytoken";req)"#) == true)
            let asked = try #require(peer.requests.first?.fields["accept-signature"])
            let nonce = try #require(try SignatureRequest(acceptSignature: [asked]).nonce)
            #expect(asked == Self.acceptSignature(nonce))
        }
    }

    /// Each request has its own nonce. A signature with this nonce is valid whatever the device's
    /// clock says, and one with another request's nonce is not.
    @Test(arguments: [-34_560_000.0, 34_560_000.0])
    func theNonceReplacesTheClock(offset: TimeInterval) async throws {
        var options = PushClient.Options(testing: [Tampering.key.publicKey])
        options.now = { Date() + offset }
        try await ProtocolPeer.run(
            { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(7), key: Tampering.key)) },
            options: options
        ) { peer, client async throws in
            for _ in 0..<2 { #expect(try await client.notification(7).value.id == 7) }
            let nonces = peer.requests.compactMap {
                try? SignatureRequest(acceptSignature: [$0.fields["accept-signature"] ?? ""]).nonce
            }
            #expect(Set(nonces).count == 2)
            #expect(nonces.allSatisfy { $0.utf8.count == 22 })
            // The client has not stored notification 8. For a stored notification, it would return
            // the stored state.
            peer.play { request, _ in
                .answer(PeerAnswer(to: request, body: Samples.item(8), key: Tampering.key, created: Date()))
            }
            let late = await interference { try await client.notification(8) }
            #expect(late?.kind == .wrongClock)
            peer.play { request, _ in
                .answer(PeerAnswer(to: request.asking("another"), body: Samples.item(8), key: Tampering.key))
            }
            let foreign = await interference { try await client.notification(8) }
            #expect(foreign?.kind == .signature)
        }
    }

    /// Each call refuses an answer of a wrong form, and an answer without the right echo of
    /// `MyToken`.
    @Test func eachCallChecksItsAnswer() async throws {
        let calls: [@Sendable (PushClient) async throws -> Void] = [
            { _ = try await $0.notification(7) }, { _ = try await $0.sync() }, { try await $0.markRead(7) },
            { try await $0.markRead([7]) }, { try await $0.dismiss(7) }, { _ = try await $0.send("a") },
            { try await $0.register(platform: "apns", handle: "ab") }, { _ = try await $0.signIn() },
        ]
        for body in [#"{"Id":8,"Read":true}"#, "[1]", #""..""#, "{}"] {
            try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, body: body)) }) { _, client in
                for call in calls.prefix(4) + calls[5...7] {
                    // A sent notification may have any id; a registration must have an id that is
                    // valid in a path.
                    do {
                        try await call(client)
                        #expect(body.contains("Id"))
                    } catch PushClientError.interference(let found) {
                        #expect([.unexpectedBody, .wrongID].contains(found.kind))
                    }
                }
            }
        }
        try await ProtocolPeer.run({ _, _ in .answer(PeerAnswer(body: "{}")) }) { _, client in
            for call in calls {
                let found = await interference { try await call(client) }
                #expect(found?.kind == .missingEcho)
            }
        }
    }

    @Test func eachRequestHasATokenOfItsOwn() async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, .notFound)) }) { peer, client in
            for id in 1...20 {
                await #expect(throws: PushClientError.self) { try await client.notification(Int64(id)) }
            }
            let tokens = peer.requests.map(\.token)
            #expect(Set(tokens).count == 20)
            for token in tokens { _ = try MyToken(text: token) }
        }
    }
}
