import Foundation
import PushCore
import PushSenders
import PushSimulators
import PushTesting
import Testing

/// The Python libraries http_ece and py_vapid read the bytes that the sender really sends. They
/// share no code with this project.
@Suite(.timeLimit(.minutes(5))) struct WebPushDifferentialTests {
    private struct Message: Encodable {
        let body: String
        let authorization: String
        let privateKey: String
        let secret: String
    }

    private struct Verdict: Decodable {
        struct Claims: Decodable {
            let aud: String
            let exp: Double
            let sub: String
        }

        let plaintext: String?
        let claims: String?
        let error: String?

        var read: Claims? {
            get throws {
                try self.claims.map { try JSONDecoder().decode(Claims.self, from: Data($0.utf8)) }
            }
        }
    }

    private static let count = 100

    @Test func anotherImplementationDecryptsAndVerifiesOurMessages() async throws {
        let (messages, origin) = try await withWebPush { sender, service, key in
            var messages: [Message] = []
            for number in 1...Self.count {
                let subscription = try service.makeSubscription(applicationServerKey: key.publicText)
                let push = try Samples.push(id: Int64(number), handle: subscription.json)
                #expect(await sender.outcome(of: push) == .success(Acceptance()))
                let request = try #require(service.pushes.received.last).request
                messages.append(
                    Message(
                        body: Data(request.body).base64EncodedString(),
                        authorization: try #require(request.header("authorization")),
                        privateKey: subscription.privateKey,
                        secret: subscription.secret
                    )
                )
            }
            return (messages, service.endpoint)
        }
        let verdicts = try await Oracle.answers(of: "webpush_oracle.py", to: messages, as: Verdict.self)
        try #require(verdicts.count == Self.count)
        for (number, verdict) in verdicts.enumerated() {
            #expect(verdict.error == nil)
            #expect(verdict.plaintext == #"{"secureId":"\#(number + 1)"}"#)
            let claims = try #require(try verdict.read)
            #expect(claims.aud == origin)
            #expect(claims.sub == "mailto:ops@example.com")
            #expect(claims.exp - Date().timeIntervalSince1970 < 86_400)
        }
        #expect(Set(messages.map(\.body.utf8.count)).count == 1, "all are as long")
        #expect(Set(messages.map(\.body)).count == Self.count)
    }

    @Test func anotherImplementationDetectsChangedMessages() async throws {
        let message = try await withWebPush { sender, service, _ in
            let subscription = try service.makeSubscription()
            _ = await sender.outcome(of: try Samples.push(handle: subscription.json))
            let request = try #require(service.pushes.received.last).request
            return Message(
                body: Data(request.body).base64EncodedString(),
                authorization: try #require(request.header("authorization")),
                privateKey: subscription.privateKey,
                secret: subscription.secret
            )
        }
        var body = try #require(Data(base64Encoded: message.body))
        body[200] ^= 1
        let changed = [
            Message(
                body: body.base64EncodedString(),
                authorization: message.authorization,
                privateKey: message.privateKey,
                secret: message.secret
            ),
            Message(
                body: message.body,
                authorization: message.authorization.replacing("t=eyJ0eXAi", with: "t=eyJ0eXAj"),
                privateKey: message.privateKey,
                secret: message.secret
            ),
        ]
        let verdicts = try await Oracle.answers(of: "webpush_oracle.py", to: [message] + changed, as: Verdict.self)
        #expect(verdicts.map { $0.error == nil } == [true, false, false])
    }
}
