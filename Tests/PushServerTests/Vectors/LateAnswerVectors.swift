import Foundation
import HTTPTypes
import PushAPI
import Testing

@testable import PushServer

/// `late.json`: late answers. The client sends a request, its inbox changes, and then the answer
/// arrives.
enum LateAnswerVectors {
    fileprivate enum Call: String {
        /// A request for the notification, for a list of this notification alone (to update the
        /// screen), or for the next page of the list.
        case notification, shown, list
    }

    /// A change of the notification while the answer is in transit.
    private enum Event: String {
        case nothing, read, unread, dismiss
        /// Another page of the list arrives. It shows that the notification was recalled, or was
        /// read on another device.
        case recalled, readElsewhere
    }

    /// The data that the client has stored before it sends the request.
    private enum Past: String {
        case nothing, list
        /// The client has stored only the notification, which it fetched by the id. It therefore
        /// sends a conditional request.
        case fetched
    }

    private struct Case {
        let name: String
        let call: Call
        let event: Event
        var past = Past.list
        /// Whether the client can send its queued task to the server before the answer arrives. If
        /// not, the task stays queued.
        var isReachable = true
        var wasRead = false
    }

    private static let cases: [Case] = [
        Case(name: "nothing has happened: it counts", call: .notification, event: .nothing),
        Case(name: "nothing has happened, and it was not cached", call: .notification, event: .nothing, past: .nothing),
        Case(name: "dismissed", call: .notification, event: .dismiss),
        Case(name: "dismissed, which waits", call: .notification, event: .dismiss, isReachable: false),
        Case(name: "dismissed, and it was not cached", call: .notification, event: .dismiss, past: .nothing),
        Case(name: "read", call: .notification, event: .read),
        Case(name: "read, which waits", call: .notification, event: .read, isReachable: false),
        Case(name: "not read any more", call: .notification, event: .unread, wasRead: true),
        Case(
            name: "not read any more, which waits",
            call: .notification,
            event: .unread,
            isReachable: false,
            wasRead: true
        ),
        Case(name: "recalled", call: .notification, event: .recalled),
        Case(name: "read on another device", call: .notification, event: .readElsewhere),
        Case(name: "unchanged, and nothing has happened", call: .notification, event: .nothing, past: .fetched),
        Case(name: "unchanged, and it was dismissed", call: .notification, event: .dismiss, past: .fetched),
        Case(name: "unchanged, and it was read", call: .notification, event: .read, past: .fetched),
        Case(name: "nothing has happened: it counts", call: .shown, event: .nothing),
        Case(name: "dismissed", call: .shown, event: .dismiss),
        Case(name: "dismissed, and it was not cached", call: .shown, event: .dismiss, past: .nothing),
        Case(name: "read", call: .shown, event: .read),
        Case(name: "read, which waits", call: .shown, event: .read, isReachable: false),
        Case(name: "nothing has happened: it counts", call: .list, event: .nothing),
        Case(name: "dismissed", call: .list, event: .dismiss),
        Case(name: "dismissed, which waits", call: .list, event: .dismiss, isReachable: false),
        Case(name: "dismissed, and it is the first page", call: .list, event: .dismiss, past: .nothing),
        Case(name: "read: until the next page it is as in this one", call: .list, event: .read),
        Case(name: "read, which waits", call: .list, event: .read, isReachable: false),
    ]

    static func file() async throws -> JSONValue {
        var vectors: [JSONValue] = []
        for item in self.cases { vectors.append(try await self.vector(item)) }
        return .members(
            ("deviceTime", .number(Int(VectorKeys.now.timeIntervalSince1970))),
            ("cases", .array(vectors))
        )
    }

    private static func vector(_ item: Case) async throws -> JSONValue {
        let server = try await VectorServer()
        var model = Model(server: server)
        for id in [7, 8] as [Int64] { try await server.post(id, #""payload \#(id)""#) }
        if item.wasRead { try await model.mark(true) }
        var before: [JSONValue] = []
        switch item.past {
        case .nothing: break
        case .list: before.append(try await model.ask(.list))
        case .fetched: before.append(try await model.ask(.notification))
        }
        server.advance(by: 1)
        if item.call == .list, item.past == .list {
            // The next page contains the notification in its old state, and a new notification.
            for isRead in [true, false] { try await model.mark(isRead) }
            try await server.post(9, #""payload 9""#)
        } else if item.event == .nothing, item.past != .fetched {
            try await model.mark(true)
        }
        let late = try await model.request(item.call)
        server.advance(by: 1)
        var (answers, page): ([JSONValue], JSONValue) = ([], .null)
        switch item.event {
        case .nothing: try model.take(late)
        case .recalled:
            _ = try await VectorAnswer(server, .delete, "/api/notifications/7", user: "paul")
            page = try await model.ask(.list)
        case .readElsewhere:
            try await model.mark(true)
            page = try await model.ask(.list)
        case .read, .unread, .dismiss:
            answers = try await model.tell(item.event.rawValue)
            model.change(as: item.event.rawValue)
            if item.call == .list {
                try model.take(late, butNot: item.event == .dismiss ? 7 : nil)
                // While a task is queued, the client shows it as done, whatever a page of the list
                // says.
                if !item.isReachable { model.change(as: item.event.rawValue) }
            }
        }
        let after = model.json
        let next = try await model.ask(.list)
        try await model.expectServersList()
        return .members(
            ("name", .string("\(item.call), \(item.name)")),
            ("before", .array(before)),
            ("late", late.json),
            ("event", .string(item.event.rawValue)),
            ("isReachable", .bool(item.isReachable)),
            ("answers", .array(answers)),
            ("page", page),
            ("after", after),
            ("next", next),
            ("finally", model.json)
        )
    }
}

/// A simple model of the client's notifications and whether each is read.
private struct Model {
    /// A request with its answer, which may not have arrived yet.
    struct Exchange {
        let call: LateAnswerVectors.Call
        let condition: String?
        let isFirst: Bool
        let answer: VectorAnswer

        var json: JSONValue {
            .members(
                ("call", .string(self.call.rawValue)),
                ("condition", .optional(self.condition)),
                ("answer", self.answer.json)
            )
        }
    }

    let server: VectorServer
    private var items: [Int: Bool] = [:]
    private var cursor: String?
    private var tag: String?

    init(server: VectorServer) { self.server = server }

    var json: JSONValue {
        let items = self.items.sorted { $0.key < $1.key }
        return .array(items.map { .members(("Id", .number($0.key)), ("Read", .bool($0.value))) })
    }

    /// Marks the notification as read or unread, as another device would.
    func mark(_ isRead: Bool) async throws {
        _ = try await VectorAnswer(self.server, .patch, "/api/notifications/7", body: #"{"Read":\#(isRead)}"#)
    }

    func request(_ call: LateAnswerVectors.Call) async throws -> Exchange {
        var (target, condition) = ("/api/notifications?limit=500", self.cursor.map { "\"\($0)\"" })
        switch call {
        case .list: if let cursor { target += "&since=\(cursor)" }
        case .shown: (target, condition) = ("/api/notifications?ids=7", nil)
        case .notification: (target, condition) = ("/api/notifications/7", self.tag)
        }
        let answer = try await VectorAnswer(self.server, .get, target, condition: condition)
        return Exchange(call: call, condition: condition, isFirst: self.cursor == nil, answer: answer)
    }

    /// Sends a request whose answer arrives at once.
    mutating func ask(_ call: LateAnswerVectors.Call) async throws -> JSONValue {
        let exchange = try await self.request(call)
        try self.take(exchange)
        return exchange.json
    }

    mutating func take(_ exchange: Exchange, butNot dismissed: Int? = nil) throws {
        guard exchange.answer.status == 200 else { return }
        let json = try JSONValue(reading: exchange.answer.body)
        if exchange.call == .notification {
            self.tag = exchange.answer.fields.first { $0.name.lowercased() == "etag" }?.value
            self.items[7] = json["Read"] == .bool(true)
            return
        }
        guard case .array(let items)? = json["Notifications"] else { return }
        if exchange.call == .list {
            if exchange.isFirst { self.items = [:] }
            if case .array(let gone)? = json["Deleted"] {
                for id in gone.compactMap(\.integer) { self.items[id] = nil }
            }
            self.cursor = json["Cursor"]?.text
        }
        for item in items {
            guard let id = item["Id"]?.integer, id != dismissed else { continue }
            self.items[id] = item["Read"] == .bool(true)
        }
    }

    /// Sends the task to the server, in each form of request that a client may use for it.
    func tell(_ task: String) async throws -> [JSONValue] {
        var forms: [(method: HTTPRequest.Method, path: String, body: String)] = [
            (.patch, "/api/notifications/7", #"{"Read":\#(task == "read")}"#)
        ]
        if task == "read" { forms.append((.post, "/api/notifications/read", #"{"Ids":[7]}"#)) }
        if task == "dismiss" { forms = [(.delete, "/api/notifications/7", "")] }
        var answers: [JSONValue] = []
        for form in forms {
            let answer = try await VectorAnswer(self.server, form.method, form.path, body: form.body)
            answers.append(
                .members(
                    ("method", .string(form.method.rawValue)),
                    ("path", .string(form.path)),
                    ("answer", answer.json)
                )
            )
        }
        return answers
    }

    mutating func change(as task: String) {
        switch task {
        case "dismiss": self.items[7] = nil
        default: if self.items[7] != nil { self.items[7] = task == "read" }
        }
    }

    /// Checks that the client's notifications and read marks are the same as the server's.
    func expectServersList() async throws {
        let all = try await VectorAnswer(self.server, .get, "/api/notifications?limit=500")
        guard case .array(let items)? = try JSONValue(reading: all.body)["Notifications"] else { return }
        let pairs = items.map { ($0["Id"]?.integer ?? 0, $0["Read"] == .bool(true)) }
        #expect(Dictionary(uniqueKeysWithValues: pairs) == self.items)
    }
}
