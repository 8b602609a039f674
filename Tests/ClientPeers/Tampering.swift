internal import Foundation
package import HTTPSignatures
internal import PushAPI
package import PushClient
internal import Testing

/// One change that a program between app and server makes to an answer.
package struct Tampering: Sendable, CustomTestStringConvertible {
    package let testDescription: String
    /// The interference that a client reports with `MyToken` alone, and the one that it reports
    /// with signatures. `nil` means that the client notices nothing.
    package let echoed: Interference.Kind?
    package let signed: Interference.Kind?
    package let spoil: @Sendable (inout PeerAnswer, PeerRequest) -> Void

    package init(
        _ name: String,
        _ echoed: Interference.Kind?,
        signed: Interference.Kind?,
        _ spoil: @escaping @Sendable (inout PeerAnswer, PeerRequest) -> Void
    ) {
        (self.testDescription, self.echoed, self.signed, self.spoil) = (name, echoed, signed, spoil)
    }

    package init(
        _ name: String,
        _ kind: Interference.Kind,
        _ spoil: @escaping @Sendable (inout PeerAnswer, PeerRequest) -> Void
    ) {
        self.init(name, kind, signed: kind, spoil)
    }

    package static let all: [Tampering] = [
        Tampering("cached, with another's token", .wrongEcho) { answer, _ in answer["MyToken"] = "20" },
        Tampering("cached, without a token", .missingEcho) { answer, _ in
            answer["MyToken"] = nil
            answer["Age"] = "60"
        },
        Tampering("two echoes", .wrongEcho) { answer, _ in answer.fields.append(("MyToken", "20")) },
        Tampering("the request's number is sent back", .wrongEcho) { $0["MyToken"] = $1.token },
        Tampering("a captive portal", .missingEcho) { answer, _ in
            answer = PeerAnswer(fields: [("Content-Type", "text/html")], body: "<html>Welcome to Hotel Wi-Fi</html>")
        },
        Tampering("a portal that can calculate", .notJSON, signed: .signature) { answer, request in
            let fields = [(name: "Content-Type", value: "text/html"), (name: "MyToken", value: request.echo)]
            answer = PeerAnswer(fields: fields, body: "<html>Welcome to Hotel Wi-Fi</html>")
        },
        Tampering("a redirect", .redirect) { answer, _ in
            answer = PeerAnswer(status: 302, fields: [("Location", "http://portal.example/login?room=7")])
        },
        Tampering("a redirect of the server's own", .redirect) { answer, request in
            answer = PeerAnswer(to: request, status: 307, fields: [("Location", "/elsewhere")])
        },
        Tampering("a redirect to nowhere", .redirect) { answer, request in answer = PeerAnswer(to: request, status: 303)
        },
        Tampering("an error page of a proxy", .missingEcho) { answer, _ in
            answer = PeerAnswer(status: 502, fields: [("Content-Type", "text/html")], body: "<h1>Bad Gateway</h1>")
        },
        Tampering("an invented 401", .missingEcho) { answer, request in
            answer = PeerAnswer(to: request, .unauthorized)
            answer["MyToken"] = nil
        },
        Tampering("an invented 404 with an echo", .unexpectedBody, signed: .signature) { answer, request in
            answer = PeerAnswer(to: request, status: 404, body: "{}")
        },
        Tampering("a problem with another status", .unexpectedBody, signed: .signature) {
            $0 = PeerAnswer(to: $1, .notFound); $0.status = 403
        },
        Tampering("an invented 304", .unexpectedNotModified, signed: .signature) { answer, request in
            answer = PeerAnswer(to: request, status: 304, fields: [("ETag", "\"a\"")])
        },
        Tampering("shortened, with its length kept", .truncated) { answer, _ in
            answer.framing = .wrongLength(answer.body.count)
            answer.body.removeLast(9)
            answer.hangsUp = true
        },
        Tampering("shortened, with the length put right", .notJSON, signed: .signature) { answer, _ in
            answer.body.removeLast(9)
        },
        Tampering("a chunk that does not end", .truncated) { answer, _ in
            answer.framing = .chunked(isEnded: false)
            answer.hangsUp = true
        },
        Tampering("shortened, without a length", .notJSON, signed: .signature) { answer, _ in
            answer.framing = .untilTheEnd
            answer.body.removeLast(9)
            answer.hangsUp = true
        },
        Tampering("a length that is too small", .truncated) { answer, _ in
            // The client's system sees that the body is shorter than its announced length.
            answer.framing = .wrongLength(answer.body.count + 3)
            answer.hangsUp = true
        },
        Tampering("an empty body", .unexpectedBody, signed: .signature) { answer, _ in answer.body = [] },
        Tampering("a rewritten payload", nil, signed: .signature) { answer, _ in
            answer.body = Array(Samples.item(7, "public").utf8)
        },
        Tampering("a rewritten payload with its digest", nil, signed: .signature) { answer, _ in
            answer.body = Array(Samples.item(7, "public").utf8)
            answer["Content-Digest"] = ContentDigest.field(of: answer.body)
        },
        Tampering("a script in the body", .notJSON, signed: .signature) { answer, _ in
            answer.body += Array("<script></script>".utf8)
        },
        Tampering("a body put into another form", .unexpectedBody, signed: .signature) { answer, _ in
            answer.body = Array("[\(String(decoding: answer.body, as: UTF8.self))]".utf8)
        },
        Tampering("another's status", .unexpectedBody, signed: .signature) { answer, _ in answer.status = 404 },
        Tampering("another notification", .wrongID, signed: .signature) { answer, request in
            // The proxy has requested another notification, so the whole answer is really the
            // server's.
            let other = request.exchanged(for: "/api/notifications/8")
            answer = PeerAnswer(to: other, body: Samples.item(8), key: Self.key)
        },
        Tampering("the answer to another question", .unexpectedBody, signed: .signature) { answer, request in
            let other = request.exchanged("POST", for: "/api/register")
            answer = PeerAnswer(to: other, body: #""a-registration-id""#, key: Self.key)
        },
        Tampering("the answer to another method", nil, signed: .signature) { answer, request in
            let other = request.exchanged("PATCH", for: request.target)
            answer = PeerAnswer(to: other, body: Samples.item(7), key: Self.key)
        },
        Tampering("the answer to another query", nil, signed: .signature) { answer, request in
            let other = request.exchanged(for: "\(request.path)?x")
            answer = PeerAnswer(to: other, body: Samples.item(7), key: Self.key)
        },
        Tampering("an item of another path", nil, signed: .signature) { answer, request in
            let other = request.exchanged(for: "/api/notifications/7/")
            answer = PeerAnswer(to: other, body: Samples.item(7), key: Self.key)
        },
        Tampering("signed without method and target", nil, signed: .insufficientCoverage) { answer, request in
            answer = PeerAnswer(to: request, body: Samples.item(7), key: Self.key, coverage: .answer)
        },
        Tampering("compressed and not said so", .notJSON, signed: .signature) { answer, _ in
            answer.body = [0x1F, 0x8B, 0x08, 0x00]
        },
        Tampering("no digest", nil, signed: .signature) { answer, _ in answer["Content-Digest"] = nil },
        Tampering("a wrong digest", nil, signed: .signature) { answer, _ in
            answer["Content-Digest"] = ContentDigest.field(of: [])
        },
        Tampering("no signature", nil, signed: .signature) { answer, _ in
            answer["Signature"] = nil
            answer["Signature-Input"] = nil
        },
        Tampering("another's signature", nil, signed: .signature) { answer, request in
            answer = PeerAnswer(to: request, body: Samples.item(7), key: SigningKey())
        },
        Tampering("signed long ago", nil, signed: .wrongClock) { answer, request in
            answer = PeerAnswer(to: request, body: Samples.item(7), key: Self.key, created: Date() - 600)
        },
    ]

    package static let harmless: [Tampering] = [
        Tampering("nothing", nil, signed: nil) { _, _ in },
        Tampering("names in capitals", nil, signed: nil) { answer, _ in
            answer.fields = answer.fields.map { ($0.name.uppercased(), $0.value) }
        },
        Tampering("names in small letters", nil, signed: nil) { answer, _ in
            answer.fields = answer.fields.map { ($0.name.lowercased(), $0.value) }
        },
        Tampering("blanks around values", nil, signed: nil) { answer, _ in
            answer.fields = answer.fields.map { ($0.name, "  \($0.value)\t ") }
        },
        Tampering("in chunks", nil, signed: nil) { answer, _ in answer.framing = .chunked(isEnded: true) },
        Tampering("fields of its own", nil, signed: nil) { answer, _ in
            answer.fields += [("Via", "1.1 proxy"), ("Age", "0"), ("Set-Cookie", "room=7")]
        },
    ]

    package static let key = SigningKey()

    /// Fetches the notification 7 once. Expects the interference, or the changed answer if the
    /// client cannot notice the change.
    package func expectVerdict(of client: PushClient, pinning key: SigningKey?) async throws {
        guard let kind = key == nil ? self.echoed : self.signed else {
            let item = try await client.notification(7)
            #expect(item.date == nil)
            if self.signed == nil { #expect(item.value.payload == .string("secret")) }
            return
        }
        let found = await interference { try await client.notification(7) }
        #expect(found?.kind == kind)
        #expect(found?.path == "/api/notifications/7")
        // The error's description must contain neither the body nor the address of a captive
        // portal.
        #expect(found?.description.contains(/secret|Hotel|room/) == false)
    }

    /// Returns a script that answers with the notification 7 and makes this change.
    package func script(signing key: SigningKey?) -> PeerScript {
        { request, _ in
            var answer = PeerAnswer(to: request, fields: [("ETag", "\"a\"")], body: Samples.item(7), key: key)
            self.spoil(&answer, request)
            return .answer(answer)
        }
    }
}
