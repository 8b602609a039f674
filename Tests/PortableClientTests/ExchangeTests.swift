import ClientPeers
import Foundation
import PushAPI
import Testing

@testable import PushClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Tests a client that sends its requests through the app's own HTTP client.
@Suite(.timeLimit(.minutes(5))) struct ExchangeTests {
    private static let server = URL(string: "https://push.example") ?? URL(fileURLWithPath: "/")

    private static func client(
        deadline: Duration = .seconds(60),
        _ answer: @escaping @Sendable (URLRequest) async throws -> PeerAnswer
    ) -> PushClient {
        var options = PushClient.Options(testing: [], answerLimit: 1000)
        options.deadline = deadline
        options.exchange = { request, maximumBody in
            #expect(maximumBody == 1000)
            let answer = try await answer(request)
            let fields = Dictionary(answer.fields.map { ($0.name, $0.value) }) { first, _ in first }
            guard let url = request.url,
                let head = HTTPURLResponse(
                    url: url,
                    statusCode: answer.status,
                    httpVersion: nil,
                    headerFields: fields
                )
            else { throw URLError(.badURL) }
            return (Data(answer.body), head)
        }
        return PushClient(server: self.server, credentials: .token("t", account: "alice"), options: options)
    }

    private static func peer(_ request: URLRequest) -> PeerRequest {
        let token = request.value(forHTTPHeaderField: MyToken.fieldName) ?? ""
        return PeerRequest(method: "GET", target: "/", fields: ["mytoken": token], body: "")
    }

    @Test func anAnswerThroughTheAppsHTTPClientIsAccepted() async throws {
        let client = Self.client { request in
            #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer t")
            return PeerAnswer(to: Self.peer(request), body: Samples.item(7))
        }
        #expect(try await client.notification(7).value.payload == .string("secret"))
    }

    @Test(arguments: [
        ("", Interference.Kind.missingEcho), (String(repeating: "x", count: 2000), .oversized),
    ])
    func itsAnswersAreChecked(body: String, kind: Interference.Kind) async throws {
        let client = Self.client { request in
            kind == .missingEcho ? PeerAnswer(body: body) : PeerAnswer(to: Self.peer(request), body: body)
        }
        #expect(await interference { try await client.notification(7) }?.kind == kind)
    }

    @Test(arguments: [
        (URLError.serverCertificateUntrusted, Interference.Kind.untrustedKey, PushClient.Advice.pin),
        (.serverCertificateHasUnknownRoot, .untrustedKey, .pin),
        (.serverCertificateHasBadDate, .wrongClock, .clock), (.serverCertificateNotYetValid, .wrongClock, .clock),
    ])
    func aRefusedCertificateIsAnInterference(
        code: URLError.Code,
        kind: Interference.Kind,
        advice: PushClient.Advice
    ) async throws {
        let client = Self.client { _ in throw URLError(code) }
        let found = try #require(await interference { try await client.notification(7) })
        #expect(found.kind == kind)
        #expect(found.status == 0)
        #expect(PushClient.Advice(for: PushClientError.interference(found)) == advice)
    }

    @Test func aCallEndsAtItsDeadlineWhateverTheHTTPClientDoes() async {
        let hung = Locked<[CheckedContinuation<Void, Never>]>([])
        let client = Self.client(deadline: .milliseconds(50)) { request in
            await withCheckedContinuation { continuation in hung.withLock { $0.append(continuation) } }
            return PeerAnswer(body: "")
        }
        #expect(await advice { try await client.notification(7) } == .offline)
        for continuation in hung.withLock({ $0 }) { continuation.resume() }
    }

    @Test func pinnedCertificatesRefuseAnotherHTTPClient() async throws {
        var options = PushClient.Options(testing: [], serverTrust: .pinned([]))
        options.exchange = { _, _ in throw URLError(.unknown) }
        let client = PushClient(server: Self.server, credentials: .token("t", account: "alice"), options: options)
        await #expect(throws: PushClientError.pinningUnavailable) { try await client.notification(7) }
    }
}
