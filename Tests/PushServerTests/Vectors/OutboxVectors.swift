import Foundation
import HTTPTypes
import PushAPI
import PushCore
import SocketHTTP
import Testing

@testable import PushServer

/// `outbox.json`: how an answer affects a user's action that is queued for the server.
enum OutboxVectors {
    private enum Task: String {
        case read, unread, dismiss, send
    }

    /// A form of the request by which a client sends a task.
    private struct Form {
        let task: Task
        let method: String
        let path: String

        static let readOne = Form(task: .read, method: "PATCH", path: "/api/notifications/7")
        static let readSeveral = Form(task: .read, method: "POST", path: "/api/notifications/read")
        static let unread = Form(task: .unread, method: "PATCH", path: "/api/notifications/7")
        static let dismiss = Form(task: .dismiss, method: "DELETE", path: "/api/notifications/7")
        static let send = Form(task: .send, method: "POST", path: "/api/notifications")

        var isOfOne: Bool { self.path.hasSuffix("/7") }
    }

    private enum Outcome: String {
        case done, waits, failed
    }

    static func file() async throws -> JSONValue {
        let successes = try await self.successes()
        let refusals = try await self.refusals().flatMap { code, answer in
            try Self.forms(code).map { try self.vector($0, code.rawValue, answer) }
        }
        let none = [Form.readOne, .readSeveral, .unread, .dismiss, .send].flatMap { form in
            [
                self.vector(form, "no answer: the connection is lost", nil, .waits),
                self.vector(form, "somebody else's answer, without the echo", VectorAnswer.portal, .waits),
            ]
        }
        return .members(
            ("deviceTime", .number(Int(VectorKeys.now.timeIntervalSince1970))),
            ("lists", .array([try await self.lists(isRead: false), try await self.lists(isRead: true)])),
            ("answers", .array(successes + refusals + none))
        )
    }

    // MARK: - Answers of the server

    /// Returns the inbox before the task. It contains the notifications 7 and 8; the task concerns
    /// 7.
    private static func lists(isRead: Bool) async throws -> JSONValue {
        let server = try await VectorServer()
        for id in [7, 8] as [Int64] { try await server.post(id, #""payload \#(id)""#) }
        if isRead { _ = try await VectorAnswer(server, .patch, "/api/notifications/7", body: #"{"Read":true}"#) }
        let list = try await VectorAnswer(server, .get, "/api/notifications?limit=500")
        let cursor = try #require(try JSONValue(reading: list.body)["Cursor"]?.text)
        let unchanged = try await VectorAnswer(
            server,
            .get,
            "/api/notifications?limit=500&since=\(cursor)",
            condition: "\"\(cursor)\""
        )
        return .members(("isRead", .bool(isRead)), ("list", list.json), ("unchanged", unchanged.json))
    }

    private static func successes() async throws -> [JSONValue] {
        let server = try await VectorServer()
        try await server.post(7, #""payload 7""#)
        func ask(_ form: Form, _ body: String) async throws -> VectorAnswer {
            let method = try #require(HTTPRequest.Method(rawValue: form.method))
            return try await VectorAnswer(server, method, form.path, body: body)
        }
        let read = try await ask(.readOne, #"{"Read":true}"#)
        let several = try await ask(.readSeveral, #"{"Ids":[7]}"#)
        let unread = try await ask(.unread, #"{"Read":false}"#)
        // The answer to a post of a plain text is the notification as its recipient fetches it. So
        // a fetch takes the place of the post here.
        let sent = try await VectorAnswer(server, .get, "/api/notifications/7")
        let dismissed = try await ask(.dismiss, "")
        let gone = try await ask(.readSeveral, #"{"Ids":[7]}"#)
        return [
            self.vector(.readOne, "it is marked", read, .done),
            self.vector(.readSeveral, "it is marked", several, .done),
            // The answer does not say why notification 7 was not marked. The next list shows that
            // it is gone.
            self.vector(.readSeveral, "it is not among those that are marked", gone, .done, isMarked: false),
            self.vector(.unread, "it is marked", unread, .done),
            self.vector(.send, "it is stored, or was under this key", sent, .done),
            self.vector(.dismiss, "it is dismissed", dismissed, .done),
        ]
    }

    /// Returns the refusals that a task's request may get. The test constructs the refusals that
    /// it cannot provoke, in the form in which the server sends them.
    private static func refusals() async throws -> [(ProblemCode, VectorAnswer)] {
        let codes: [ProblemCode] = [
            .invalidMember, .invalidBearerToken, .insufficientScope, .notFound, .requestTimeout, .idempotencyKeyInUse,
            .tooMuchStored, .idempotencyKeyReused, .payloadTooLarge, .internalError, .busy, .storageFull,
        ]
        let head = try #require(RequestHead("GET / HTTP/1.1\r\nHost: sealpost.test\r\nX-Request-Id: vector\r\n\r\n"))
        let made = codes.map { ($0, VectorAnswer(Response(Problem($0), request: RequestID(head)))) }
        let server = try await VectorServer()
        let missing = try await VectorAnswer(server, .delete, "/api/notifications/7")
        let madeMissing = made.first { $0.0 == .notFound }?.1
        #expect(missing.body == madeMissing?.body)
        let narrow = try await VectorServer(quotas: [.device: try #require(Quota(requests: 1, window: 60))])
        _ = try await VectorAnswer(narrow, .get, "/api/notifications/7")
        return made + [(.rateLimited, try await VectorAnswer(narrow, .get, "/api/notifications/7"))]
    }

    /// Returns the forms of requests that the server may refuse with this code.
    private static func forms(_ code: ProblemCode) -> [Form] {
        switch code {
        case .invalidMember, .idempotencyKeyInUse, .tooMuchStored, .idempotencyKeyReused, .payloadTooLarge: [.send]
        case .notFound: [.readOne, .unread, .dismiss, .send]
        default: [.readOne, .readSeveral, .unread, .dismiss, .send]
        }
    }

    // MARK: - Meaning of the answers

    private static func vector(_ form: Form, _ name: String, _ answer: VectorAnswer) throws -> JSONValue {
        let code = try #require(ProblemCode(rawValue: name))
        let isDecided = (400..<500).contains(answer.status) && ![401, 408, 429].contains(answer.status)
        guard isDecided, code != .idempotencyKeyInUse else { return self.vector(form, name, answer, .waits) }
        if answer.status == 404, form.isOfOne { return self.vector(form, name, answer, .done, isGone: true) }
        return self.vector(form, name, answer, .failed, code: name)
    }

    private static func vector(
        _ form: Form,
        _ name: String,
        _ answer: VectorAnswer?,
        _ outcome: Outcome,
        code: String? = nil,
        isMarked: Bool = true,
        isGone: Bool = false
    ) -> JSONValue {
        let wasRead = form.task == .unread
        var shown: Bool? = wasRead
        if outcome != .failed, isMarked {
            switch form.task {
            case .read: shown = true
            case .unread: shown = false
            case .dismiss: shown = nil
            case .send: break
            }
        }
        if isGone { shown = nil }
        let wait = outcome == .waits ? answer?.wait : nil
        return .members(
            ("name", .string("\(form.task), \(form.method): \(name)")),
            ("task", .string(form.task.rawValue)),
            ("wasRead", .bool(wasRead)),
            ("method", .string(form.method)),
            ("path", .string(form.path)),
            ("answer", answer?.json ?? .null),
            ("outcome", .string(outcome.rawValue)),
            ("code", .optional(code)),
            ("retryAfter", wait.map { .number($0) } ?? .null),
            ("shown", shown.map { .members(("Id", .number(7)), ("Read", .bool($0))) } ?? .null)
        )
    }
}

/// An answer to a client that requests no signature. It includes the fields that the client
/// checks: `MyToken`, `Date`, the request id and the account.
struct VectorAnswer {
    static let portal = VectorAnswer(
        status: 200,
        fields: [("Content-Type", "text/html")],
        body: Array("<h1>Welcome</h1>".utf8),
        hasEcho: false
    )
    private static let ofExchange: Set<String> = ["mytoken", "date", "x-request-id", "sealpost-account"]

    let status: Int
    let fields: [(name: String, value: String)]
    let body: [UInt8]
    var hasEcho = true

    init(status: Int, fields: [(name: String, value: String)], body: [UInt8], hasEcho: Bool) {
        (self.status, self.fields, self.body, self.hasEcho) = (status, fields, body, hasEcho)
    }

    init(_ response: Response, hasBody: Bool = true) {
        self.status = response.status.code
        self.fields = response.fields.lines.map { (name: $0.name.rawName, value: $0.value) }
            .filter { !Self.ofExchange.contains($0.name.lowercased()) }
        self.body = hasBody && ![204, 304].contains(response.status.code) ? response.body : []
    }

    init(
        _ server: VectorServer,
        _ method: HTTPRequest.Method,
        _ target: String,
        user: String = "alice",
        condition: String? = nil,
        body: String = ""
    ) async throws {
        var headers = [("MyToken", VectorServer.token), ("X-Request-Id", "vector")]
        if let condition { headers.append(("If-None-Match", condition)) }
        self.init(try await server.fixture.send(method, target, user: user, headers: headers, body: body))
    }

    /// The seconds in `Retry-After`.
    var wait: Int? {
        self.fields.first { $0.name.lowercased() == "retry-after" }.flatMap { Int($0.value) }
    }

    var json: JSONValue {
        .members(
            ("status", .number(self.status)),
            ("fields", .array(self.fields.map { .array([.string($0.name), .string($0.value)]) })),
            ("body", .string(String(decoding: self.body, as: UTF8.self))),
            ("hasEcho", .bool(self.hasEcho))
        )
    }
}
