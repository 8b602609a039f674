import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

/// The impostors of `InterferenceTests` on a real connection, where the system's HTTP client reads
/// the framing of the answers.
@Suite(.timeLimit(.minutes(5))) struct FramingTests {
    @Test(arguments: Tampering.all + Tampering.harmless, [nil, Tampering.key])
    func eachChangeOfAnAnswerHasItsVerdict(tampering: Tampering, key: SigningKey?) async throws {
        let options = PushClient.Options(testing: key.map { [$0.publicKey] } ?? [])
        try await ScriptedPeer.run(tampering.script(signing: key), options: options) { peer, client in
            try await tampering.expectVerdict(of: client, pinning: key)
            #expect(peer.requests.count == 1)
        }
    }

    /// A captive portal announces a body and delays it. The head of the answer is enough for the
    /// client to refuse it.
    @Test func anAnswerWithoutTheEchoIsRefusedAtItsHead() async throws {
        try await ScriptedPeer.run({ _, _ in
            var answer = PeerAnswer(body: "<html>")
            answer.framing = .wrongLength(1 << 20)
            return .answer(answer)
        }) { _, client in
            let found = await interference { try await client.notification(7) }
            #expect(found?.kind == .missingEcho)
        }
    }

    @Test(arguments: [PeerAnswer.Framing.length, .chunked(isEnded: true), .untilTheEnd])
    func anAnswerAboveTheLimitIsRefused(framing: PeerAnswer.Framing) async throws {
        let options = PushClient.Options(testing: [], answerLimit: 1000)
        for (count, kind) in [(1000 - Samples.item(7, "").utf8.count, nil), (1000, Interference.Kind.oversized)] {
            let body = Samples.item(7, String(repeating: "x", count: count))
            try await ScriptedPeer.run(
                { request, _ in
                    var answer = PeerAnswer(to: request, body: body)
                    answer.framing = framing
                    answer.hangsUp = true
                    return .answer(answer)
                },
                options: options
            ) { _, client async throws in
                if kind == nil {
                    #expect(try await client.notification(7).date == nil)
                } else {
                    let found = await interference { try await client.notification(7) }
                    #expect(found?.kind == kind)
                }
            }
        }
    }

    @Test func aRedirectIsReportedAndNotFollowed() async throws {
        try await ScriptedPeer.run({ _, _ in .hangUp }) { elsewhere in
            let location = [(name: "Location", value: elsewhere.url.absoluteString + "/api/notifications/7")]
            try await ScriptedPeer.run({ request, _ in
                .answer(PeerAnswer(to: request, status: 308, fields: location))
            }) { _, client in
                let found = await interference { try await client.notification(7) }
                #expect(found?.seen == "a redirect to 127.0.0.1")
            }
            #expect(elsewhere.requests.isEmpty)
        }
    }
}
