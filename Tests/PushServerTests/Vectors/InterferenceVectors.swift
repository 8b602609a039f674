import Foundation
import HTTPSignatures
import HTTPTypes
import PushAPI
import Testing

/// `interference.json`: answers that a party between client and server has changed, with a
/// client's expected verdict on each.
enum InterferenceVectors {
    /// A changed answer, and the client's verdicts: each is a kind of interference, or `nil` if
    /// the client accepts the answer.
    struct Case: Sendable {
        let name: String
        /// The verdict of a client that relies on `MyToken` alone, and that of a client that pins
        /// a key.
        let unsigned: String?
        let signed: String?
        var call = "notification"
        /// Whether the client knows the identifier of its account.
        var knowsAccount = true
        /// How far the device's clock is ahead of the server's, in seconds.
        var clockIsAheadBy = 0
        /// The nonce of the request.
        var nonce: String?
        let spoil: @Sendable (inout VectorExchange, VectorServer) async throws -> Void
    }

    static func file() async throws -> JSONValue {
        var cases: [JSONValue] = []
        let sets = [
            Self.harmless, Self.ofEcho, Self.ofBody, Self.ofSignature, Self.ofNonces, Self.exchanged, Self.ofAccounts,
            Self.ofLists,
        ]
        for item in sets.joined() {
            let server = try await VectorServer()
            try await server.post(7, #""secret""#)
            try await server.post(8, #""another""#)
            let target = item.call == "list" ? "/api/notifications?limit=500" : "/api/notifications/7"
            var exchange = try await server.ask(.get, target, nonce: item.nonce)
            let request = exchange.request
            let account = try #require(exchange["Sealpost-Account"])
            try await item.spoil(&exchange, server)
            cases.append(
                .members(
                    ("name", .string(item.name)),
                    ("call", .string(item.call)),
                    ("account", item.knowsAccount ? .string(account) : .null),
                    ("deviceTime", .number(Int(VectorKeys.now.timeIntervalSince1970) + item.clockIsAheadBy)),
                    ("request", item.call == "conditional" ? exchange.request : request),
                    ("answer", exchange.answer),
                    (
                        "verdict",
                        .members(
                            ("unsigned", .string(item.unsigned ?? "accepted")),
                            ("signed", .string(item.signed ?? "accepted"))
                        )
                    )
                )
            )
        }
        return .members(("cases", .array(cases)), ("retryAfter", .array(Self.waits)))
    }

    /// Values of `Retry-After` with the delay in seconds that each requests. The delay is null for
    /// values that the server never sends.
    private static var waits: [JSONValue] {
        let fields: [(String, Int?)] = [
            ("0", 0), ("30", 30), ("86400", 86_400), ("999999999", 999_999_999), ("9999999999", nil), ("", nil),
            ("-1", nil),
            ("+30", nil), ("1.5", nil), ("30 s", nil), ("soon", nil), ("Wed, 21 Oct 2026 07:28:00 GMT", nil),
        ]
        return fields.map { .members(("field", .string($0.0)), ("seconds", $0.1.map { .number($0) } ?? .null)) }
    }

    private static func same(
        _ name: String,
        _ kind: String?,
        _ spoil: @escaping @Sendable (inout VectorExchange, VectorServer) async throws -> Void
    ) -> Case {
        Case(name: name, unsigned: kind, signed: kind, spoil: spoil)
    }

    private static func differs(
        _ name: String,
        _ unsigned: String?,
        signed: String?,
        _ spoil: @escaping @Sendable (inout VectorExchange, VectorServer) async throws -> Void
    ) -> Case {
        Case(name: name, unsigned: unsigned, signed: signed, spoil: spoil)
    }

    // MARK: - Cases

    private static let harmless = [
        Self.same("nothing was changed", nil) { _, _ in },
        Self.same("names in capitals", nil) { answer, _ in
            answer.fields = answer.fields.map { ($0.name.uppercased(), $0.value) }
        },
        Self.same("names in small letters", nil) { answer, _ in
            answer.fields = answer.fields.map { ($0.name.lowercased(), $0.value) }
        },
        Self.same("blanks around values", nil) { answer, _ in
            answer.fields = answer.fields.map { ($0.name, "  \($0.value)\t ") }
        },
        Self.same("fields of a proxy", nil) { answer, _ in
            answer.fields += [("Via", "1.1 proxy"), ("Age", "0"), ("Set-Cookie", "room=7")]
        },
        Case(name: "a clock five minutes ahead", unsigned: nil, signed: nil, clockIsAheadBy: 300) { _, _ in },
        Case(name: "a clock five minutes behind", unsigned: nil, signed: nil, clockIsAheadBy: -300) { _, _ in },
        Self.same("the server's own refusal", nil) { answer, server in
            _ = try await server.ask(.delete, "/api/notifications/7")
            answer = try await server.ask(.get, "/api/notifications/7")
        },
        Case(name: "the server's own 304", unsigned: nil, signed: nil, call: "conditional") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", condition: answer["ETag"])
        },
        Case(name: "a 304 whose tag was marked as weak", unsigned: nil, signed: "signature", call: "conditional") {
            answer,
            server in
            answer = try await server.ask(.get, "/api/notifications/7", condition: answer["ETag"])
            answer["ETag"] = "W/\(answer["ETag"] ?? "")"
        },
    ]

    private static let ofEcho = [
        Self.same("a captive portal", "missingEcho") { answer, _ in
            (answer.fields, answer.body) = ([("Content-Type", "text/html")], Array("<html>Hotel Wi-Fi</html>".utf8))
        },
        Self.differs("a portal that can calculate", "notJSON", signed: "signature") { answer, _ in
            answer.fields = [("Content-Type", "text/html"), ("MyToken", "17003")]
            answer.body = Array("<html>Hotel Wi-Fi</html>".utf8)
        },
        Self.same("a portal's redirect", "redirect") { answer, _ in
            answer.status = 302
            (answer.fields, answer.body) = ([("Location", "http://portal.example/login?room=7")], [])
        },
        Self.same("a redirect that echoes the token", "redirect") { answer, _ in
            answer.status = 307
            answer["Location"] = "/elsewhere"
        },
        Self.same("an error page of a proxy", "missingEcho") { answer, _ in
            answer.status = 502
            (answer.fields, answer.body) = ([("Content-Type", "text/html")], Array("<h1>Bad Gateway</h1>".utf8))
        },
        Self.same("an invented 401", "missingEcho") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", user: nil)
            answer["MyToken"] = nil
        },
        Self.same("cached, without an echo", "missingEcho") { answer, _ in
            answer["MyToken"] = nil
            answer["Age"] = "60"
        },
        Self.same("an empty echo", "missingEcho") { answer, _ in answer["MyToken"] = "" },
        Self.same("cached, with the echo of another request", "wrongEcho") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", token: "1")
        },
        Self.same("two echoes", "wrongEcho") { answer, _ in answer.fields.append(("MyToken", "20")) },
        Self.same("the request's number is sent back", "wrongEcho") { answer, _ in answer["MyToken"] = "1000" },
        Self.same("the echo with a zero in front", "wrongEcho") { answer, _ in answer["MyToken"] = "017003" },
        Self.differs("replayed, with the echo put right", nil, signed: "signature") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", token: "1")
            answer["MyToken"] = "17003"
        },
    ]

    private static let ofBody = [
        Self.same("the connection is lost in the middle", "truncated") { answer, _ in
            answer.body.removeLast(9)
            answer.end = .cut
        },
        Self.differs("shortened, with the length put right", "notJSON", signed: "signature") { answer, _ in
            answer.body.removeLast(9)
        },
        Self.differs("an empty body", "unexpectedBody", signed: "signature") { answer, _ in answer.body = [] },
        Self.differs("one changed byte", nil, signed: "signature") { answer, _ in
            answer.body = Array(String(decoding: answer.body, as: UTF8.self).replacing("secret", with: "sicret").utf8)
        },
        Self.differs("a rewritten payload with its digest", nil, signed: "signature") { answer, _ in
            answer.body = Array(String(decoding: answer.body, as: UTF8.self).replacing("secret", with: "public").utf8)
            answer["Content-Digest"] = ContentDigest.field(of: answer.body)
        },
        Self.differs("a script behind the body", "notJSON", signed: "signature") { answer, _ in
            answer.body += Array("<script></script>".utf8)
        },
        Self.differs("a body put into another form", "unexpectedBody", signed: "signature") { answer, _ in
            answer.body = Array("[".utf8) + answer.body + Array("]".utf8)
        },
        Self.differs("compressed and not said so", "notJSON", signed: "signature") { answer, _ in
            answer.body = [0x1F, 0x8B, 0x08, 0x00]
        },
        Self.differs("members whose names are spelled in small letters", nil, signed: "signature") { answer, _ in
            answer.replace(#""Id""#, by: #""id""#)
            answer.replace(#""Read""#, by: #""read""#)
        },
        Self.differs("an id with a fraction of zero", nil, signed: "signature") { answer, _ in
            answer.replace(#""Id":7"#, by: #""Id":7.0"#)
        },
        Self.differs("an id with a fraction", "unexpectedBody", signed: "signature") { answer, _ in
            answer.replace(#""Id":7"#, by: #""Id":7.5"#)
        },
        Self.differs("an id as a text", "unexpectedBody", signed: "signature") { answer, _ in
            answer.replace(#""Id":7"#, by: #""Id":"7""#)
        },
        Self.differs("another status", "unexpectedBody", signed: "signature") { answer, _ in answer.status = 404 },
        Self.differs("an invented 404 with an echo", "unexpectedBody", signed: "signature") { answer, _ in
            (answer.status, answer.fields, answer.body) = (404, [("MyToken", "17003")], Array("{}".utf8))
        },
        Self.differs("an invented 304", "unexpectedNotModified", signed: "signature") { answer, _ in
            (answer.status, answer.body) = (304, [])
        },
        Self.same("a true 304 that nobody asked for", "unexpectedNotModified") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", condition: answer["ETag"])
        },
        Case(
            name: "a 304 with another tag",
            unsigned: "unexpectedNotModified",
            signed: "signature",
            call: "conditional"
        ) {
            answer,
            server in
            answer = try await server.ask(.get, "/api/notifications/7", condition: answer["ETag"])
            answer["ETag"] = "\"another\""
        },
    ]

    private static let ofSignature = [
        Self.differs("no signature", nil, signed: "signature") { answer, _ in
            answer["Signature"] = nil
            answer["Signature-Input"] = nil
        },
        Self.differs("an empty signature", nil, signed: "signature") { answer, _ in answer["Signature"] = "sig=::" },
        Self.differs("no digest", nil, signed: "signature") { answer, _ in answer["Content-Digest"] = nil },
        Self.differs("the digest of something else", nil, signed: "signature") { answer, _ in
            answer["Content-Digest"] = ContentDigest.field(of: [])
        },
        Self.differs("signed with an unknown key", nil, signed: "signature") { answer, _ in
            let other = try await VectorServer(signingSeed: VectorKeys.otherSeed)
            try await other.post(7, #""secret""#)
            answer = try await other.ask(.get, "/api/notifications/7")
        },
        Self.differs("signed with an unknown key under the name of the pinned one", nil, signed: "signature") {
            answer,
            _ in
            let base = try answer.base(key: VectorKeys.signing(), created: VectorKeys.now)
            let signature = try VectorKeys.other().signature(over: base).base64EncodedString()
            answer["Signature"] = "sig=:\(signature):"
        },
        Self.differs("signed without method, path and query", nil, signed: "insufficientCoverage") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", coverage: .answer)
        },
        Self.differs("a component is named twice, and another not at all", nil, signed: "insufficientCoverage") {
            answer,
            _ in
            let input = answer["Signature-Input"] ?? ""
            answer["Signature-Input"] = input.replacing(#""content-digest""#, with: #""@status""#)
        },
        Self.differs("a component is named twice, beside all of them", nil, signed: "signature") { answer, _ in
            let input = answer["Signature-Input"] ?? ""
            answer["Signature-Input"] = input.replacing(#"("@status""#, with: #"("@status" "@status""#)
        },
        Self.differs("signed rightly, over the components in another order", nil, signed: "signature") { answer, _ in
            let key = try VectorKeys.signing()
            let base = try answer.base(key: key, created: VectorKeys.now, isReversed: true)
            answer["Signature-Input"] = "sig=\(base.parameters)"
            answer["Signature"] = "sig=:\(try key.signature(over: base).base64EncodedString()):"
        },
        Case(name: "a clock ten minutes ahead", unsigned: nil, signed: "wrongClock", clockIsAheadBy: 600) { _, _ in },
        Case(name: "a clock ten minutes behind", unsigned: nil, signed: "wrongClock", clockIsAheadBy: -600) { _, _ in },
        Case(name: "a wrong clock and a changed byte", unsigned: nil, signed: "signature", clockIsAheadBy: 600) {
            answer,
            _ in
            answer.body = Array(String(decoding: answer.body, as: UTF8.self).replacing("secret", with: "sicret").utf8)
        },
    ]

    private static let year = 31_536_000
    private static let another = String(VectorKeys.nonce.reversed())

    private static let ofNonces = [
        Self.nonce("the request's nonce, and a clock a year ahead", nil, clock: Self.year) { _, _ in },
        Self.nonce("the request's nonce, and a clock a year behind", nil, clock: -Self.year) { _, _ in },
        Self.nonce("the request's nonce, and a changed byte", "signature") { answer, _ in
            answer.replace("secret", by: "sicret")
        },
        Self.nonce("no nonce, as the version before signs", nil) { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7")
        },
        Self.nonce("no nonce, and a clock ten minutes ahead", "wrongClock", clock: 600) { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7")
        },
        Self.nonce("another request's nonce", "signature") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", nonce: Self.another)
        },
        Self.nonce("another request's nonce, put right", "signature") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", nonce: Self.another)
            answer["Signature-Input"] = answer["Signature-Input"]?.replacing(Self.another, with: VectorKeys.nonce)
        },
        Self.nonce("a second nonce", "signature") { answer, _ in
            answer["Signature-Input"]?.append(";nonce=\"\(VectorKeys.nonce)\"")
        },
    ]

    private static func nonce(
        _ name: String,
        _ signed: String?,
        clock: Int = 0,
        _ spoil: @escaping @Sendable (inout VectorExchange, VectorServer) async throws -> Void
    ) -> Case {
        Case(
            name: name,
            unsigned: nil,
            signed: signed,
            clockIsAheadBy: clock,
            nonce: VectorKeys.nonce,
            spoil: spoil
        )
    }

    /// The server sent all these answers, but to other requests with the same `MyToken`.
    private static let exchanged = [
        Self.differs("another notification", "wrongID", signed: "signature") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/8")
        },
        Self.differs("the refusal of another path", nil, signed: "signature") { answer, server in
            answer = try await server.ask(.get, "/api/nothing")
        },
        Self.differs("the answer to another question", "unexpectedBody", signed: "signature") { answer, server in
            answer = try await server.ask(.get, "/api/register")
        },
        Self.differs("the answer to another method", nil, signed: "signature") { answer, server in
            answer = try await server.ask(.patch, "/api/notifications/7", body: #"{"Read":true}"#)
        },
        Self.differs("the answer to another query", nil, signed: "signature") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7?x")
        },
    ]

    /// The server sent most of these answers, but to another user.
    private static let ofAccounts = [
        Self.same("another account's refusal", "wrongAccount") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", user: "bob")
        },
        Case(name: "another account's list", unsigned: "wrongAccount", signed: "wrongAccount", call: "list") {
            answer,
            server in
            answer = try await server.ask(.get, "/api/notifications?limit=500", user: "bob")
        },
        Case(
            name: "another account's answer, long ago",
            unsigned: "wrongAccount",
            signed: "wrongClock",
            clockIsAheadBy: 600
        ) { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", user: "bob")
        },
        Case(name: "the first answer shows the account", unsigned: nil, signed: nil, knowsAccount: false) { _, _ in },
        Self.same("nobody is asked to sign in", nil) { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", user: nil)
        },
        Self.same("a notification for nobody", "wrongAccount") { answer, _ in
            answer["Sealpost-Account"] = "none"
            try answer.sign()
        },
        Self.same("a refusal for nobody", "wrongAccount") { answer, server in
            _ = try await server.ask(.delete, "/api/notifications/7")
            answer = try await server.ask(.get, "/api/notifications/7")
            answer["Sealpost-Account"] = "none"
            try answer.sign()
        },
        Case(
            name: "a refusal for nobody, where the account is not known",
            unsigned: "wrongAccount",
            signed: "wrongAccount",
            knowsAccount: false
        ) { answer, server in
            _ = try await server.ask(.delete, "/api/notifications/7")
            answer = try await server.ask(.get, "/api/notifications/7")
            answer["Sealpost-Account"] = "none"
            try answer.sign()
        },
        Self.differs("the account was left out", nil, signed: "signature") { answer, _ in
            answer["Sealpost-Account"] = nil
        },
        Self.differs("the account was exchanged", "wrongAccount", signed: "signature") { answer, _ in
            answer["Sealpost-Account"] = "AAAAAAAAAAAAAAAAAAAAAA"
        },
        Self.differs("another account's answer, with the account put right", nil, signed: "signature") {
            answer,
            server in
            let own = answer["Sealpost-Account"]
            answer = try await server.ask(.get, "/api/notifications/7", user: "bob")
            answer["Sealpost-Account"] = own
        },
        Self.differs("two accounts", "wrongAccount", signed: "signature") { answer, _ in
            answer.fields.append(("Sealpost-Account", "AAAAAAAAAAAAAAAAAAAAAA"))
        },
        Self.differs("signed without the account", nil, signed: "insufficientCoverage") { answer, server in
            answer = try await server.ask(.get, "/api/notifications/7", coverage: .exchange)
        },
        Case(name: "the version before has answered", unsigned: nil, signed: nil, knowsAccount: false) { answer, _ in
            answer["Sealpost-Account"] = nil
            try answer.sign()
        },
    ]

    private static let ofLists = [
        Case(name: "a list, not changed", unsigned: nil, signed: nil, call: "list") { _, _ in },
        Case(name: "an item in place of a list", unsigned: "unexpectedBody", signed: "signature", call: "list") {
            answer,
            server in
            answer = try await server.ask(.get, "/api/notifications/7")
        },
        Case(name: "an item was left out of a list", unsigned: nil, signed: "signature", call: "list") { answer, _ in
            answer.body = Array(
                String(decoding: answer.body, as: UTF8.self).replacing(#"{"Id":8"#, with: #"{"Id":9"#).utf8
            )
        },
        Case(name: "a list without a cursor", unsigned: "unexpectedBody", signed: "signature", call: "list") {
            answer,
            _ in
            answer.body = Array(String(decoding: answer.body, as: UTF8.self).replacing("Cursor", with: "Course").utf8)
        },
        Case(name: "a cursor of 1,024 bytes", unsigned: nil, signed: "signature", call: "list") { answer, _ in
            try answer.replaceCursor(by: String(repeating: "c", count: 1024))
        },
        Case(name: "a cursor of 1,025 bytes", unsigned: "unexpectedBody", signed: "signature", call: "list") {
            answer,
            _ in
            try answer.replaceCursor(by: String(repeating: "c", count: 1025))
        },
        Case(
            name: "a cursor of 1,026 bytes in 342 characters",
            unsigned: "unexpectedBody",
            signed: "signature",
            call: "list"
        ) {
            answer,
            _ in
            try answer.replaceCursor(by: String(repeating: "€", count: 342))
        },
        Case(name: "the last page of a list in place of the first", unsigned: nil, signed: "signature", call: "list") {
            answer,
            server in
            let cursor = try #require(try JSONValue(reading: answer.body)["Cursor"]?.text)
            answer = try await server.ask(.get, "/api/notifications?limit=500&since=\(cursor)")
        },
    ]
}

extension VectorExchange {
    fileprivate mutating func replace(_ text: String, by other: String) {
        self.body = Array(String(decoding: self.body, as: UTF8.self).replacing(text, with: other).utf8)
    }

    fileprivate mutating func replaceCursor(by other: String) throws {
        let cursor = try #require(try JSONValue(reading: self.body)["Cursor"]?.text)
        self.replace(cursor, by: other)
    }
}
