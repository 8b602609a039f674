import ClientPeers
import Cryptography
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Tests that answers to queued tasks, and answers that arrive late, have the effects that
/// `docs/evidence/vectors` gives.
@Suite(.timeLimit(.minutes(5))) struct OutboxVectorTests {
    private let folder: TemporaryFolder

    init() throws {
        self.folder = try TemporaryFolder()
    }

    private func store(_ name: String) -> PushClient.Store {
        .folder(URL(fileURLWithPath: self.folder.file(name)), key: SymmetricKey(data: Data(count: 32)))
    }

    private static func options(_ file: VectorFile) throws -> PushClient.Options {
        let now = try file.json.time("deviceTime")
        var options = PushClient.Options(testing: [])
        options.now = { now }
        return options
    }

    // MARK: - What waits

    @Test func outboxOutcomesMatchTheVectors() async throws {
        let file = try VectorFile("outbox")
        var outcomes: Set<String> = []
        for (number, vector) in try file.list("answers").enumerated() {
            // The outbox marks notifications as read with the request for several notifications,
            // so it never sends the request of this vector.
            if try vector.text("task") == "read", try vector.text("method") == "PATCH" { continue }
            let list = try #require(try file.list("lists").first { $0["isRead"] == vector["wasRead"] })
            outcomes.insert(try vector.text("outcome"))
            try await self.follow(vector, after: list, Self.options(file), self.store("\(number)"))
        }
        #expect(outcomes == ["done", "waits", "failed"])
    }

    private func follow(
        _ vector: JSONValue,
        after list: JSONValue,
        _ options: PushClient.Options,
        _ store: PushClient.Store
    ) async throws {
        let (name, method, path) = (try vector.text("name"), try vector.text("method"), try vector.text("path"))
        let script: PeerScript = { request, _ in
            switch (request.method, request.path) {
            case (method, path): return PeerReply(vector["answer"], to: request)
            case ("GET", Paths.notifications):
                return PeerReply(list[request.fields["if-none-match"] == nil ? "list" : "unchanged"], to: request)
            case ("DELETE", "/api/notifications/8"): return .answer(PeerAnswer(to: request, status: 204))
            default: return .hangUp
            }
        }
        try await ProtocolPeer.run(script) { peer in
            let client = peer.client(.token("t", account: "alice"), options: options, store: store)
            _ = try await client.sync()
            switch try vector.text("task") {
            case "read": try await client.outbox.markRead(7)
            case "unread": try await client.outbox.markRead(7, false)
            case "dismiss": try await client.outbox.dismiss(7)
            default: try await client.outbox.send("a")
            }
            try await client.outbox.dismiss(8)
            var wait: Duration?
            do {
                try await client.outbox.flush()
            } catch PushClientError.busy(_, let time) {
                wait = time
            } catch {
                // The error does not matter here; other tests check the kinds of interference.
            }
            let (count, failures) = (try await client.outbox.count, try await client.outbox.failures)
            // A waiting task delays the tasks behind it.
            let isNextTold = peer.requests.contains { $0.method == "DELETE" && $0.path.hasSuffix("/8") }
            switch try vector.text("outcome") {
            case "done": #expect(count == 0 && failures.isEmpty && isNextTold, "\(name)")
            case "failed":
                #expect(count == 0 && failures.map(\.code) == [vector["code"]?.text] && isNextTold, "\(name)")
            default: #expect(count == 2 && failures.isEmpty && !isNextTold, "\(name)")
            }
            #expect(wait == vector["retryAfter"]?.integer.map { Duration.seconds($0) }, "\(name)")
            // The sync may fail because of the task. The client must show the inbox nevertheless.
            _ = try? await client.sync()
            let shown = try await client.cachedInbox().notifications.first { $0.id == 7 }
            #expect(shown.map { JSONValue.bool($0.isRead) } == vector["shown"]?["Read"], "\(name)")
        }
    }

    // MARK: - What is late

    @Test func lateAnswersMatchTheVectors() async throws {
        let file = try VectorFile("late")
        for (number, vector) in try file.list("cases").enumerated() {
            let late = try #require(vector["late"])
            try await self.follow(vector, late, Self.options(file), self.store("late \(number)"))
        }
    }

    private func follow(
        _ vector: JSONValue,
        _ late: JSONValue,
        _ options: PushClient.Options,
        _ store: PushClient.Store
    ) async throws {
        let (name, before) = (try vector.text("name"), try vector.list("before"))
        let replies = try LateReplies(vector, late)
        try await ScriptedPeer.run({ request, _ in replies.reply(to: request) }, before: replies.wait) {
            peer async throws in
            let client = peer.client(.token("t", account: "alice"), options: options, store: store)
            for exchange in before { try await Self.call(exchange, client) }
            async let arrival: Void = Self.call(late, client)
            await replies.isAsked.wait()
            switch try vector.text("event") {
            case "read": try await client.outbox.markRead(7)
            case "unread": try await client.outbox.markRead(7, false)
            case "dismiss": try await client.outbox.dismiss(7)
            case "nothing": break
            default: _ = try await client.sync()
            }
            if vector["isReachable"] == .bool(true) {
                replies.acceptsTasks.withLock { $0 = true }
                try await client.outbox.flush()
            }
            replies.mayArrive.open()
            try await arrival
            #expect(try await Self.items(client) == vector["after"], "\(name)")
            // After the next sync, the inbox must be the same as the server's.
            replies.acceptsTasks.withLock { $0 = true }
            #expect(try await client.sync().date == nil, "\(name)")
            #expect(try await Self.items(client) == vector["finally"], "\(name), in the end")
            #expect(replies.problems.withLock { $0 }.isEmpty, "\(name): \(replies.problems.withLock { $0 })")
        }
    }

    private static func call(_ exchange: JSONValue, _ client: PushClient) async throws {
        switch try exchange.text("call") {
        case "notification": _ = try await client.notification(7)
        case "shown": _ = try await client.preview(7)
        default: _ = try await client.sync()
        }
    }

    private static func items(_ client: PushClient) async throws -> JSONValue {
        let items = try await client.cachedInbox().notifications.sorted { $0.id < $1.id }
        return .array(
            items.map { .object([.init("Id", .number($0.id)), .init("Read", .bool($0.isRead))]) }
        )
    }
}

/// The answers of a test vector, one of which arrives late.
private final class LateReplies: Sendable {
    private struct Reply {
        let exchange: JSONValue
        let isLate: Bool
    }

    let isAsked = Gate()
    let mayArrive = Gate()
    /// Whether the server answers requests for tasks.
    let acceptsTasks = Locked(false)
    let problems = Locked<[String]>([])
    /// The replies for each request, in order.
    private let replies: Locked<[String: [Reply]]>
    private let lateKey: String
    private let accepted: [JSONValue]

    init(_ vector: JSONValue, _ late: JSONValue) throws {
        var replies: [String: [Reply]] = [:]
        let page = vector["page"].flatMap { $0 == .null ? nil : $0 }
        let exchanges = try vector.list("before") + [late] + [page, vector["next"]].compactMap(\.self)
        let count = try vector.list("before").count
        for (number, exchange) in exchanges.enumerated() {
            replies[Self.key(try exchange.text("call")), default: []].append(
                Reply(exchange: exchange, isLate: number == count)
            )
        }
        self.replies = Locked(replies)
        self.lateKey = Self.key(try late.text("call"))
        self.accepted = try vector.list("answers")
    }

    private static func key(_ call: String) -> String {
        switch call {
        case "notification": "GET /api/notifications/7"
        case "shown": "GET /api/notifications?ids=7"
        default: "GET /api/notifications"
        }
    }

    private static func key(_ request: PeerRequest) -> String {
        "\(request.method) \(request.query.hasPrefix("ids=") ? request.target : request.path)"
    }

    /// Runs before each answer, and waits if it is the late one.
    @Sendable func wait(_ request: PeerRequest) async {
        let key = Self.key(request)
        let isLate = self.replies.withLock { $0[key]?.first?.isLate == true }
        guard isLate, key == self.lateKey else { return }
        let reply = self.replies.withLock { $0[self.lateKey]?.removeFirst() }
        self.check(request, reply?.exchange)
        self.isAsked.open()
        await self.mayArrive.wait()
        // The request that has waited gets the late reply, and no other request does.
        self.replies.withLock { $0["late", default: []] = reply.map { [$0] } ?? [] }
    }

    func reply(to request: PeerRequest) -> PeerReply {
        let key = Self.key(request)
        if request.method != "GET" {
            let isAccepted = self.acceptsTasks.withLock { $0 }
            let answer = self.accepted.first {
                $0["method"]?.text == request.method && $0["path"]?.text == request.path
            }
            return isAccepted ? PeerReply(answer?["answer"], to: request) : .hangUp
        }
        let late = self.replies.withLock { replies -> Reply? in
            guard key == self.lateKey, let late = replies["late"]?.first else { return nil }
            replies["late"] = nil
            return late
        }
        if let late { return PeerReply(late.exchange["answer"], to: request) }
        let next = self.replies.withLock { replies -> Reply? in
            guard replies[key]?.isEmpty == false else { return nil }
            return replies[key]?.removeFirst()
        }
        self.check(request, next?.exchange)
        return PeerReply(next?.exchange["answer"], to: request)
    }

    private func check(_ request: PeerRequest, _ exchange: JSONValue?) {
        guard let exchange else { return self.problems.withLock { $0.append("\(request.target) was not due") } }
        guard request.fields["if-none-match"] != exchange["condition"]?.text else { return }
        let condition = request.fields["if-none-match"] ?? "none"
        self.problems.withLock { $0.append("\(request.target) was asked for on the condition \(condition)") }
    }
}

/// Lets one task wait until another task opens the gate.
private final class Gate: Sendable {
    private let stream: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init() {
        (self.stream, self.end) = AsyncStream.makeStream()
    }

    func open() { self.end.finish() }

    func wait() async { for await _ in self.stream {} }
}

extension PeerReply {
    /// Creates the reply to a request: the answer of a vector, with the echo of `MyToken`. If
    /// `answer` is `nil`, the reply is a lost connection.
    fileprivate init(_ answer: JSONValue?, to request: PeerRequest) {
        guard let answer, let status = answer["status"]?.integer, case .array(let fields)? = answer["fields"] else {
            self = .hangUp
            return
        }
        let pairs = fields.compactMap { field -> (name: String, value: String)? in
            guard case .array(let pair) = field, let name = pair.first?.text, let value = pair.last?.text else {
                return nil
            }
            return (name, value)
        }
        var reply = PeerAnswer(status: status, fields: pairs, body: answer["body"]?.text ?? "")
        if answer["hasEcho"] == .bool(true) { reply["MyToken"] = request.echo }
        self = .answer(reply)
    }
}
