import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The server's answers match the schemas of its OpenAPI document. The Python library jsonschema
/// validates them.
@Suite(.timeLimit(.minutes(5))) struct OpenAPIDifferentialTests {
    private struct Question: Encodable {
        let route: String
        let status: Int
        let type: String
        let fields: [String: String]
        let body: String
    }

    private struct Answer: Decodable {
        let flaws: [String]
    }

    @Test func everyRoutesAnswersMatchTheDocument() async throws {
        let questions = try await self.tour()
        #expect(Set(questions.map(\.route)).count == ServerFixture.routes.count)
        let answers = try await Oracle.answers(of: "openapi_oracle.py", to: questions, as: Answer.self)
        #expect(answers.count == questions.count)
        for (question, answer) in zip(questions, answers) {
            #expect(answer.flaws.isEmpty, "\(question.route) \(question.status): \(answer.flaws) in \(question.body)")
        }
    }

    @Test func deviationsFromTheDocumentAreFound() async throws {
        let fields = [
            "X-Request-Id": "a", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
            "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer",
        ]
        func question(_ status: Int, _ fields: [String: String], _ body: String) -> Question {
            Question(route: "GET /healthz", status: status, type: "application/json", fields: fields, body: body)
        }
        let questions = [
            question(200, fields, #"{"Status":"alive"}"#),
            question(200, fields, #"{"Status":"dead"}"#),
            question(200, fields, "{}"),
            question(200, fields.filter { $0.key != "Cache-Control" }, #"{"Status":"alive"}"#),
            question(200, fields.merging(["MyToken": "2"]) { $1 }, #"{"Status":"alive"}"#),
            question(201, fields, #"{"Status":"alive"}"#),
        ]
        let answers = try await Oracle.answers(of: "openapi_oracle.py", to: questions, as: Answer.self)
        #expect(answers.map(\.flaws.isEmpty) == [true, false, false, false, false, false], "\(answers)")
    }

    // MARK: - Private

    /// Sends the request of every row in `AccessRow` as each kind of caller.
    private func tour() async throws -> [Question] {
        let fixture = try await ServerFixture(quotas: [.device: try #require(Quota(requests: 1000, window: 60))])
        var questions: [Question] = []
        func send(
            _ route: String,
            _ target: String,
            user: String?,
            _ headers: [(String, String)] = [],
            body: String = ""
        )
            async throws -> Response
        {
            let method = try #require(HTTPRequest.Method(String(route.prefix { $0 != " " })))
            let all = headers + [("MyToken", "4711")]
            let response = try await fixture.send(method, target, user: user, headers: all, body: body)
            questions.append(
                Question(
                    route: route,
                    status: response.status.code,
                    type: response.fields[.contentType] ?? "",
                    fields: Dictionary(
                        response.fields.lines.map { ($0.name.rawName, $0.value) },
                        uniquingKeysWith: { first, _ in first }
                    ),
                    body: response.text
                )
            )
            return response
        }
        let ownPassword = "PUT \(Paths.ownPassword)"
        for (route, row) in AccessRow.all.sorted(by: { $0.key < $1.key }) where route != ownPassword {
            let path = String(route.drop { $0 != " " }.dropFirst())
            for user in [nil, "alice", "ada"] {
                let target = path.filled(with: path.hasPrefix(Paths.users) ? "bob" : "123")
                _ = try await send(route, target, user: user, body: row.body)
            }
        }
        let id = try await fixture.requestRegistration(user: "ada")
        let device = "/api/register/\(id)"
        _ = try await send("PUT /api/register/{id}", device, user: "ada", body: #"{"Platform":"fcm","Handle":"h"}"#)
        _ = try await send("GET /api/register", Paths.register, user: "ada")
        let moved = try await fixture.storage.addDevice(of: fixture.storage.user("paul"), handle: "h").description
        _ = try await send("PUT /api/register/{id}", device, user: "ada", body: #"{"Platform":"apns","Handle":"h"}"#)
        for query in ["", "?user=ada", "?user=nobody", "?limit=1"] {
            _ = try await send("GET /api/devices", Paths.devices + query, user: "ada")
        }
        _ = try await send("DELETE /api/devices/{id}", Paths.device(moved), user: "ada")
        _ = try await fixture.post(#"{"Payload":1,"To":["username:ada"]}"#, user: "ada")
        for delivery in try await fixture.storage.lease() {
            try await fixture.storage.settle(delivery, as: .failed(reason: "BadDeviceToken"))
        }
        for query in ["", "?state=failed&since=1h&user=ada&app=default&limit=1", "?state=queued", "?cursor=x"] {
            _ = try await send("GET /api/deliveries", Paths.deliveries + query, user: "ada")
        }
        for subject in ["ada", "nobody", device.replacing("/api/register/", with: ""), "1?notification=x"] {
            _ = try await send("GET /api/why/{id}", Paths.why(subject), user: "ada")
        }
        let strict = [("Prefer", "handling=strict")]
        for target in [Paths.notifications, "\(Paths.notifications)?limt=5"] {
            _ = try await send("GET /api/notifications", target, user: "ada", strict)
        }
        let misspelt = #"{"Payloads":1}"#
        _ = try await send("POST /api/notifications", Paths.notifications, user: "ada", strict, body: misspelt)
        for body in [
            "", #""text""#, #"{"Payload":{"a":[1]},"To":["username:ada"]}"#, #"{"Payload":1,"Store":"never"}"#,
        ] {
            let sent = try await send("POST /api/notifications", Paths.notifications, user: "ada", body: body)
            let item = "\(Paths.notifications)/\(try #require(try sent.json["Id"]?.integer))"
            _ = try await send("GET /api/notifications/{id}", item, user: "ada")
            _ = try await send("GET /api/notifications/{id}", item, user: "ada", [("If-None-Match", "*")])
            _ = try await send("GET /api/notifications/{id}/deliveries", "\(item)/deliveries", user: "ada")
            _ = try await send("GET /api/notifications/{id}/recipients", "\(item)/recipients", user: "ada")
            _ = try await send("GET /api/notifications/{id}", item, user: "ada", [("If-Match", "\"x\"")])
            _ = try await send("PATCH /api/notifications/{id}", item, user: "ada", body: #"{"Read":true}"#)
            for rest in [")", #" "@method";req "@path";req "@query";req);nonce="n!""#] {
                let list = #"sig=("@status" "content-digest" "mytoken";req\#(rest)"#
                let signature = [("Accept-Signature", list)]
                _ = try await send("GET /api/notifications/{id}", item, user: "ada", signature)
                _ = try await send("GET /api/notifications", Paths.notifications, user: "ada", signature)
            }
            let list = try await send("GET /api/notifications", Paths.notifications, user: "ada")
            let since = "\(Paths.notifications)?since=\(try #require(try list.json["Cursor"]?.text))"
            _ = try await send("DELETE /api/notifications/{id}", item, user: "ada")
            _ = try await send("GET /api/notifications", since, user: "ada")
            _ = try await send("GET /api/notifications", since, user: "ada", [("If-None-Match", "*")])
        }
        for body in [
            #"{"Notifications":[{"Payload":1},{"Payload":2,"ReadOnce":true},{"Payload":3,"To":["username:no"]},4]}"#,
            #"{"Notifications":[{"Payload":1,"SendAt":"2999-01-01T00:00:00Z"}]}"#, #"{"Notifications":[]}"#,
        ] {
            _ = try await send("POST /api/notifications/batch", Paths.notificationBatch, user: "ada", body: body)
        }
        let once = #"{"Payload":1,"ReadOnce":true,"To":["username:ada"]}"#
        let first = try await send(
            "POST /api/notifications",
            Paths.notifications,
            user: "ada",
            [("Idempotency-Key", "a")],
            body: once
        )
        let number = Int64(try #require(try first.json["Id"]?.integer))
        let taken = "POST /api/notifications/{id}/taken"
        _ = try await send(taken, Paths.taken(number), user: "ada")
        _ = try await send("GET /api/notifications/{id}", Paths.notification(number), user: "ada")
        _ = try await send(taken, Paths.taken(number), user: "ada")
        _ = try await send(taken, Paths.taken(1), user: "ada")
        _ = try await send(
            "POST /api/notifications",
            Paths.notifications,
            user: "ada",
            [("Idempotency-Key", "a")],
            body: ""
        )
        _ = try await send("GET /api/notifications", Paths.notifications, user: "ada")
        _ = try await send(
            "POST /api/notifications/read",
            Paths.readNotifications,
            user: "ada",
            body: #"{"Ids":[1,2]}"#
        )
        let made = try await send("POST /api/tokens", Paths.tokens, user: "ada", body: #"{"User":"paul"}"#)
        _ = try await send("GET /api/tokens", Paths.tokens, user: "ada")
        let token = try #require(try made.json["Token"]?.text)
        let bearer = [("Authorization", "Bearer \(token)")]
        _ = try await send("DELETE /api/sessions/current", Paths.currentSession, user: nil, bearer)
        _ = try await send("GET /api/users/{id}", Paths.user("alice"), user: "ada")
        _ = try await send("GET /openapi.json", Paths.openAPI, user: nil, [("If-None-Match", "*")])
        // This request comes last, because it changes the password that the other requests use.
        _ = try await send(ownPassword, Paths.ownPassword, user: "ada", body: AccessRow.all[ownPassword]?.body ?? "")
        return questions
    }
}
