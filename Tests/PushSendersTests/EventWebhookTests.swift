import CurlHTTP
import Foundation
import PushCore
import PushSimulators
import Reactor
import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct EventWebhookTests {
    private static let body = Array(#"{"type":"sealpost.events","data":{"Events":[{"Number":7}]}}"#.utf8)

    private func withHook<Result: Sendable>(
        _ body: @Sendable (WebhookSimulator, EventWebhook) async throws -> Result
    ) async throws -> Result {
        try await withProvider { authority, connection, loop in
            let hook = try WebhookSimulator(authority: authority)
            let settings = WebhookSettings(url: hook.url, secret: Secret(hook.secret), connection: connection)
            let webhook = try EventWebhook(settings, on: loop)
            let result = try await hook.whileRunning { try await body($0, webhook) }
            await webhook.close()
            return result
        }
    }

    @Test func aMessageIsSignedAndCarriesItsId() async throws {
        try await self.withHook { hook, webhook in
            try await webhook.send(EventBatch(id: "events-7-7", body: Self.body))
            let request = try await hook.pushes.acceptedPush(1).request
            #expect(request.body == Self.body)
            #expect(request.header("webhook-id") == "events-7-7")
            #expect(request.header("content-type") == "application/json")
        }
    }

    @Test func aReplacedSecretSignsTheNextMessageAndABadOneIsRefused() async throws {
        try await self.withHook { hook, webhook in
            let good = Secret(hook.secret)
            try webhook.replaceSecret(with: Secret(String(repeating: "x", count: 24)))
            await #expect(throws: SendFailure.misconfigured(reason: "HTTP 401")) {
                try await webhook.send(EventBatch(id: "a", body: Self.body))
            }
            #expect(throws: SenderSettingsError.self) { try webhook.replaceSecret(with: Secret("short")) }
            try webhook.replaceSecret(with: good)
            try await webhook.send(EventBatch(id: "a", body: Self.body))
        }
    }

    @Test(arguments: [
        (200, [:], nil), (204, [:], nil),
        (302, ["location": "https://evil.example/"], SendFailure.misconfigured(reason: "HTTP 302")),
        (400, [:], .misconfigured(reason: "HTTP 400")), (401, [:], .misconfigured(reason: "HTTP 401")),
        (404, [:], .misconfigured(reason: "HTTP 404")), (408, [:], .unavailable(reason: "HTTP 408")),
        (410, [:], .misconfigured(reason: "HTTP 410")), (413, [:], .misconfigured(reason: "HTTP 413")),
        (425, [:], .unavailable(reason: "HTTP 425")), (429, [:], .unavailable(reason: "HTTP 429")),
        (429, ["retry-after": "5"], .overloaded(reason: "HTTP 429", retryAfter: .seconds(5))),
        (500, [:], .unavailable(reason: "HTTP 500")),
        (502, ["retry-after": "5"], .unavailable(reason: "HTTP 502", retryAfter: .seconds(5))),
        (503, [:], .unavailable(reason: "HTTP 503")),
        (503, ["retry-after": "5"], .overloaded(reason: "HTTP 503", retryAfter: .seconds(5))),
    ])
    func eachStatusHasItsConsequence(status: Int, headers: [String: String], expected: SendFailure?) {
        let answer = ProviderAnswer(Samples.response(status, "", headers), now: Samples.now)
        switch EventWebhook.table.outcome(of: answer) {
        case .success: #expect(expected == nil)
        case .failure(let failure): #expect(failure == expected)
        }
    }

    @Test func theErrorNamesWhatIsWrong() throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let secret = Secret(String(repeating: "s", count: 24))
        let error = #expect(throws: SenderSettingsError.self) {
            try EventWebhook(WebhookSettings(url: "http://hooks.example/", secret: secret), on: loop)
        }
        #expect("\(try #require(error))" == "url: must be an https URL")
    }
}
