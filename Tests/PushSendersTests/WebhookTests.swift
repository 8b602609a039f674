import Cryptography
import CurlHTTP
import Foundation
import PushCore
import PushTesting
import Reactor
import Testing

@testable import PushSenders

@Suite(.timeLimit(.minutes(5))) struct WebhookTests {
    private func request(secret: String, handle: String = "device-1") throws -> OutboundRequest {
        let hook = WebhookRequest(
            url: try #require(OutboundURL("https://hooks.example/in?a=b")),
            secret: try WebhookSecret(Secret(secret)),
            timeout: .seconds(9)
        )
        return hook.make(try Samples.push(handle: handle), now: Samples.now)
    }

    @Test func aPushIsTheDeviceAndTheIDAndNothingElse() throws {
        let request = try self.request(secret: String(repeating: "s", count: 24), handle: #"a"b\c"#)
        #expect(request.url.text == "https://hooks.example/in?a=b")
        #expect(request.bodyText == #"{"secureId":"7","handle":"a\"b\\c"}"#)
        #expect(request.headers.count == 4)
        #expect(request.header("content-type") == "application/json")
        #expect(request.header("webhook-id") == "8c2f9f43-7d2d-4d8b-9a55-0c1e8e6c2a11")
        #expect(request.header("webhook-timestamp") == "1800000000")
    }

    @Test func aConfirmationIsTheDeviceAndTheCodeAndIsSignedAlike() throws {
        let code = ConfirmationCodes(IndexSecret()).code(of: 7, seed: 1, claim: Data(count: 16))
        let hook = WebhookRequest(
            url: try #require(OutboundURL("https://hooks.example/in")),
            secret: try WebhookSecret(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")),
            timeout: .seconds(9)
        )
        let push = try Samples.push(handle: "d", confirmation: code)
        let request = hook.make(push, now: Samples.now)
        #expect(request.bodyText == #"{"confirmation":"\#(code.exposed)","handle":"d"}"#)
        #expect(
            request.headers.map(\.name)
                == hook.make(try Samples.push(handle: "d"), now: Samples.now).headers.map(\.name)
        )
        let signature = try WebhookSecret(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).signature(
            id: push.attemptID.text,
            timestamp: "1800000000",
            body: Array(request.bodyText.utf8)
        )
        #expect(request.header("webhook-signature") == signature)
        #expect("\(push)".contains("<secret>") && !"\(push)".contains(code.exposed))
    }

    /// The example that every library of Standard Webhooks tests.
    @Test func theSignatureIsThatOfStandardWebhooks() throws {
        let secret = try WebhookSecret(Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let signature = secret.signature(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: "1614265330",
            body: Array(#"{"test": 2432232314}"#.utf8)
        )
        #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func eachSecretSignsDuringARotation() throws {
        let (old, new) = ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", String(repeating: "n", count: 30))
        func signature(_ secret: String) throws -> String {
            try #require(try self.request(secret: secret).header("webhook-signature"))
        }
        #expect(try signature("\(old)\n\n \(new)\n") == "\(signature(old)) \(signature(new))")
    }

    @Test(arguments: ["", "\n", "whsec_", "whsec_AAAA", "whsec_!", "short", "a text that is long enough\nshort"])
    func anInvalidSecretIsReported(text: String) throws {
        let error = #expect(throws: SenderSettingsError.self) { try WebhookSecret(Secret(text)) }
        #expect("\(try #require(error))".hasPrefix("secretFile: "))
    }

    /// The libraries for backends and the recipes in Go and C# read the same table.
    @Test func eachReceiverReadsTheServersSecrets() throws {
        let vectors = try JSONDecoder().decode(
            WebhookVectors.self,
            from: Data(Repository.text(of: "docs/evidence/vectors/webhooks.json").utf8)
        )
        for row in vectors.secrets {
            // The server reads files without a byte order mark.
            let secret = try? WebhookSecret(Secret(String(row.text.trimmingPrefix("\u{FEFF}"))))
            let body = Array(vectors.body.utf8)
            let signature = secret?.signature(id: vectors.id, timestamp: "\(vectors.timestamp)", body: body)
            #expect(signature == row.signature, "\(row.name)")
        }
    }

    @Test(arguments: [
        (200, [:], SendOutcome.success(Acceptance())), (204, [:], .success(Acceptance())),
        (302, ["location": "https://evil.example/"], .failure(.misconfigured(reason: "HTTP 302"))),
        (400, [:], .failure(.rejected(reason: "HTTP 400"))), (401, [:], .failure(.misconfigured(reason: "HTTP 401"))),
        (403, [:], .failure(.misconfigured(reason: "HTTP 403"))),
        (404, [:], .failure(.deviceUnknown(reason: "HTTP 404"))),
        (405, [:], .failure(.misconfigured(reason: "HTTP 405"))),
        (408, [:], .failure(.unavailable(reason: "HTTP 408"))),
        (410, [:], .failure(.deviceGone(reason: "HTTP 410"))), (422, [:], .failure(.rejected(reason: "HTTP 422"))),
        (429, [:], .failure(.deviceBusy(reason: "HTTP 429", retryAfter: .seconds(60)))),
        (429, ["retry-after": "5"], .failure(.deviceBusy(reason: "HTTP 429", retryAfter: .seconds(5)))),
        (500, [:], .failure(.unavailable(reason: "HTTP 500"))), (503, [:], .failure(.unavailable(reason: "HTTP 503"))),
        (503, ["retry-after": "5"], .failure(.overloaded(reason: "HTTP 503", retryAfter: .seconds(5)))),
    ])
    func eachStatusHasItsConsequence(status: Int, headers: [String: String], expected: SendOutcome) {
        #expect(WebhookResponse.outcome(Samples.response(status, "", headers), now: Samples.now) == expected)
    }

    @Test func theErrorNamesWhatIsWrong() throws {
        let loop = try EventLoop(index: 0)
        defer { loop.stop() }
        let secret = Secret(String(repeating: "s", count: 24))
        let error = #expect(throws: SenderSettingsError.self) {
            try WebhookSender(WebhookSettings(url: "http://hooks.example/", secret: secret), on: loop)
        }
        #expect("\(try #require(error))" == "url: must be an https URL")
    }
}

/// The file `webhooks.json` of the vectors.
private struct WebhookVectors: Decodable {
    struct Row: Decodable {
        var name: String
        var text: String
        var signature: String?
    }

    var id: String
    var timestamp: Int
    var body: String
    var secrets: [Row]
}
