import Foundation
import HTTPSignatures
import HTTPTypes
import PushAPI
import PushCore
import Testing

@testable import PushServer

/// `signatures.json`: real answers of each status, with the signed text.
enum SignatureVectors {
    static func file() async throws -> JSONValue {
        let key = try VectorKeys.signing()
        var vectors: [JSONValue] = []
        for (name, exchange) in try await self.exchanges() {
            let base = try exchange.base(key: key, created: VectorKeys.now)
            let signature = try key.signature(over: base).base64EncodedString()
            // The server's signature must equal the signature that the test made by the rules of
            // the RFC.
            #expect(exchange["Signature-Input"] == "sig=\(base.parameters)", "\(name)")
            #expect(exchange["Signature"] == "sig=:\(signature):", "\(name)")
            vectors.append(
                .members(
                    ("name", .string(name)),
                    ("request", exchange.request),
                    ("answer", exchange.answer),
                    ("base", .string(base.text)),
                    ("signature", .string(signature))
                )
            )
        }
        return .members(("now", .number(Int(VectorKeys.now.timeIntervalSince1970))), ("vectors", .array(vectors)))
    }

    private static func exchanges() async throws -> [(String, VectorExchange)] {
        let server = try await VectorServer()
        try await server.post(7, #""secret""#)
        try await server.post(8, #"{"kind":"result","text":"„Grüße“ \\ \"🔒\"","n":1.50}"#)
        let item = try await server.ask(.get, "/api/notifications/7")
        let tag = try #require(item["ETag"])
        let list = try await server.ask(.get, "/api/notifications?limit=500")
        let cursor = try #require(try JSONValue(reading: list.body)["Cursor"]?.text)
        let registration = #"{"Platform":"apns","Handle":"aa","Tags":[]}"#
        for id in ["one", "two"] {
            try await server.fixture.issue(id)
            _ = try await server.ask(.put, "/api/register/\(id)", body: registration)
        }
        var exchanges: [(String, VectorExchange)] = [
            ("200, a notification", item),
            ("200, with a nonce", try await server.ask(.get, "/api/notifications/7", nonce: VectorKeys.nonce)),
            ("200, a payload that is an object", try await server.ask(.get, "/api/notifications/8")),
            ("200, a list", list),
            (
                "200, an empty page behind a cursor",
                try await server.ask(.get, "/api/notifications?limit=500&since=\(cursor)")
            ),
            ("200, the greatest token", try await server.ask(.get, "/api/notifications/7", token: "126322567")),
            ("200 to HEAD: nothing is the content", try await server.ask(.head, "/api/notifications/7")),
            (
                "200, a query with encoded characters",
                try await server.ask(.get, "/healthz?a=%2F%c3%BC&b=+&c", user: nil)
            ),
            ("200, an empty query is as none", try await server.ask(.get, "/healthz?", user: nil)),
            ("200, marked as read", try await server.ask(.patch, "/api/notifications/7", body: #"{"Read":true}"#)),
            (
                "201, a user was made",
                try await server.ask(
                    .post,
                    "/api/users",
                    user: "ada",
                    body: #"{"Name":"carol","Password":"a long password"}"#
                )
            ),
            ("204, dismissed", try await server.ask(.delete, "/api/notifications/8")),
            ("304, an unchanged notification", try await server.ask(.get, "/api/notifications/7", condition: tag)),
            (
                "304, with a nonce",
                try await server.ask(.get, "/api/notifications/7", nonce: VectorKeys.nonce, condition: tag)
            ),
            ("400, an unknown cursor", try await server.ask(.get, "/api/notifications?since=AAAAAAAAAAAAAAAAAAAAAA")),
            ("400, no token", try await server.ask(.get, "/healthz", user: nil, token: "126322568")),
            ("401, nobody", try await server.ask(.get, "/api/notifications/7", user: nil)),
            ("403, not allowed", try await server.ask(.post, "/api/users", body: "{}")),
            ("404, no such notification", try await server.ask(.get, "/api/notifications/9")),
            ("405, not with this method", try await server.ask(.delete, "/api/notifications")),
            (
                "409, a name that is taken",
                try await server.ask(
                    .post,
                    "/api/users",
                    user: "ada",
                    body: #"{"Name":"bob","Password":"a long password"}"#
                )
            ),
            ("410, a registration that has ended", try await server.ask(.put, "/api/register/one", body: registration)),
            (
                "413, too long",
                try await server.ask(.post, "/api/notifications", body: "\"\(String(repeating: "x", count: 66_000))\"")
            ),
        ]
        let now = try await server.ask(.get, "/api/notifications?limit=500")
        let end = try #require(try JSONValue(reading: now.body)["Cursor"]?.text)
        let query = "limit=500&since=\(end)"
        exchanges.append(
            (
                "304, nothing new behind a cursor",
                try await server.ask(.get, "/api/notifications?\(query)", condition: "\"\(end)\"")
            )
        )
        let quota = try #require(Quota(requests: 1, window: 60))
        let narrow = try await VectorServer(quotas: [.device: quota])
        _ = try await narrow.ask(.get, "/api/notifications/7")
        exchanges.append(("429, too many requests", try await narrow.ask(.get, "/api/notifications/7")))
        let troubled = try await VectorServer(troubles: ["the disk is full"])
        exchanges.append(("503, not ready", try await troubled.ask(.get, "/readyz", user: nil)))
        return exchanges.map { name, exchange in
            // The long body of the request is left out, because no client needs it.
            var exchange = exchange
            if let body = exchange.requestBody, body.count > 1000 { exchange.requestBody = nil }
            return (name, exchange)
        }
    }
}
