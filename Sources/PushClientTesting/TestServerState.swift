internal import Foundation
internal import PushAPI

/// The server's data and its decisions; the signing happens outside.
struct TestServerState: Sendable {
    private struct Entry {
        var item: NotificationItem
        var change: Int
    }

    var network = TestServer.Network.fine
    var takesCredentials = true
    var isBusy = false
    var clockOffset = Duration.zero
    var requests: [String] = []
    private(set) var registration: String?
    private(set) var isShared = false
    private var platform = ""
    private var topics: Set<String> = []
    /// The device's public keys for end-to-end encryption.
    private var deviceKey: String?
    var streams = TestStreams()
    private var entries: [Int64: Entry] = [:]
    private var removed: [Int64: Int] = [:]
    /// The notifications by the `Idempotency-Key` of their request.
    private var sent: [String: NotificationItem] = [:]
    private var change = 0
    private var lastID: Int64 = 0

    var items: [NotificationItem] { self.entries.values.map(\.item).sorted { $0.id < $1.id } }

    mutating func add(_ payload: JSONValue, isReadOnce: Bool, expiresAt: Date) -> Int64 {
        self.lastID += 1
        let expiresAt = min(expiresAt, Date(timeIntervalSince1970: 4_102_444_800))
        let item = NotificationItem(
            id: self.lastID,
            payload: payload,
            isRead: false,
            createdAt: Date(),
            expiresAt: expiresAt,
            isReadOnce: isReadOnce
        )
        self.put(item)
        return item.id
    }

    mutating func remove(_ id: Int64) {
        guard self.entries.removeValue(forKey: id) != nil else { return }
        self.change += 1
        self.removed[id] = self.change
    }

    mutating func answer(_ request: TestRequest) -> TestAnswer {
        if request.path == Paths.enrolment { return self.session(request) }
        if self.isBusy { return Self.problem(.busy, ["Retry-After": "5"]) }
        guard self.takesCredentials else { return Self.problem(.unauthorized) }
        if request.path.hasPrefix(Paths.register) { return self.register(request) }
        if request.path.hasPrefix(Paths.devices) { return self.device(request) }
        if request.path == Paths.ownPassword { return TestAnswer(204) }
        if request.path.hasPrefix(Paths.sessions) { return self.session(request) }
        guard request.path.hasPrefix(Paths.notifications) else { return Self.problem(.notFound) }
        let body = try? JSONValue(reading: request.body)
        let rest = request.path.dropFirst(Paths.notifications.count + 1).split(separator: "/")
        switch (request.method, rest.first.map(String.init), rest.count) {
        case ("GET", nil, _): return self.list(request)
        case ("POST", nil, _): return self.send(body, key: request.idempotencyKey)
        case ("POST", "read", 1): return self.markRead(body)
        case (let method, let id?, let count): return self.one(method, id, isTaken: count == 2, body, request.tag)
        default: return Self.problem(.notFound)
        }
    }

    // MARK: - Routes

    private mutating func register(_ request: TestRequest) -> TestAnswer {
        if request.method == "GET" { return self.devices() }
        if request.method == "POST" {
            let id = String(repeating: "0", count: 32 - 8) + String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
            return TestAnswer(200, body: JSONValue.string(id).bytes)
        }
        let id = request.method == "DELETE" ? nil : request.path.split(separator: "/").last.map(String.init)
        if id != self.registration { self.deviceKey = nil }
        self.registration = id
        let body = try? JSONValue(reading: request.body)
        self.isShared = body?["Shared"] == .bool(true)
        self.platform = body?["Platform"]?.text ?? ""
        if case .array(let tags)? = body?["Tags"] { self.topics = Set(tags.compactMap(\.text)) }
        self.streams.isForDevice = self.registration != nil && body?["Platform"]?.text == "stream"
        // The device gets pushes only for notifications that are added after its registration.
        self.streams.announcedUpTo = self.lastID
        return TestAnswer(200)
    }

    private func devices() -> TestAnswer {
        guard let registration else { return TestAnswer(200, body: JSONValue.array([]).bytes) }
        let device = JSONValue.object([
            .init("Id", .string(registration)), .init("Platform", .string(self.platform)),
            .init("Tags", .array(self.topics.sorted().map { .string($0) })),
            .init("Key", self.deviceKey.map { .string($0) } ?? .null),
        ])
        return TestAnswer(200, body: JSONValue.array([device]).bytes)
    }

    /// Joins or leaves a topic of the device, sets its keys, or sends it a test push.
    private mutating func device(_ request: TestRequest) -> TestAnswer {
        let parts = request.path.split(separator: "/").map { $0.removingPercentEncoding ?? "" }
        guard parts.count > 3, parts[2] == self.registration else { return Self.problem(.notFound) }
        if parts[3] == "test" {
            return TestAnswer(200, body: JSONValue.object([.init("State", .string("accepted"))]).bytes)
        }
        if parts[3] == "key" {
            self.deviceKey = (try? JSONValue(reading: request.body))?["Key"]?.text
            return TestAnswer(204)
        }
        guard parts.count == 5 else { return Self.problem(.notFound) }
        if request.method == "PUT" { self.topics.insert(parts[4]) } else { self.topics.remove(parts[4]) }
        return TestAnswer(204)
    }

    private func session(_ request: TestRequest) -> TestAnswer {
        let owner: [JSONValue.Member] = [
            .init("Name", .string(request.username ?? "alice")), .init("Account", .string(TestServer.account)),
        ]
        if request.method == "GET" { return TestAnswer(200, body: JSONValue.object(owner).bytes) }
        guard request.method == "POST" else { return TestAnswer(204) }
        let session = JSONValue.object(
            owner + [
                .init("Token", .string("spt_test")), .init("ExpiresAt", .string("2099-01-01T00:00:00Z")),
            ]
        )
        return TestAnswer(201, body: session.bytes)
    }

    private mutating func send(_ body: JSONValue?, key: String?) -> TestAnswer {
        if let known = key.flatMap({ self.sent[$0] }) { return TestAnswer(201, body: known.json.bytes) }
        let id = self.add(body?["Payload"] ?? body ?? .null, isReadOnce: false, expiresAt: .distantFuture)
        if let key { self.sent[key] = self.entries[id]?.item }
        return TestAnswer(201, body: (self.entries[id]?.item.json ?? .null).bytes)
    }

    private mutating func markRead(_ body: JSONValue?) -> TestAnswer {
        guard case .array(let ids)? = body?["Ids"] else { return Self.problem(.invalidMember) }
        let read = ids.compactMap { $0.integer.map(Int64.init) }.filter { self.entries[$0] != nil }
        for id in read { self.mark(id, isRead: true) }
        let numbers = read.map { JSONValue.number($0) }
        return TestAnswer(200, body: JSONValue.object([.init("Read", .array(numbers))]).bytes)
    }

    private mutating func one(
        _ method: String,
        _ id: String,
        isTaken: Bool,
        _ body: JSONValue?,
        _ tag: String?
    ) -> TestAnswer {
        guard let id = Int64(id), let item = self.entries[id]?.item else { return Self.problem(.notFound) }
        switch method {
        case "DELETE":
            self.remove(id)
            return TestAnswer(204)
        case "POST":
            guard isTaken, item.isReadOnce else { return Self.problem(.nothingToConfirm) }
            self.remove(id)
            return TestAnswer(204)
        case "PATCH":
            self.mark(id, isRead: body?["Read"] == .bool(true))
            return TestAnswer(200, body: (self.entries[id]?.item.json ?? .null).bytes)
        default:
            let current = "\"\(id)-\(item.isRead)\""
            if tag == current { return TestAnswer(304, fields: ["ETag": current]) }
            return TestAnswer(200, fields: ["ETag": current], body: item.json.bytes)
        }
    }

    private func list(_ request: TestRequest) -> TestAnswer {
        let query = URLComponents(string: "?\(request.query ?? "")")?.queryItems ?? []
        func value(_ name: String) -> String? { query.first { $0.name == name }?.value }
        var entries = self.entries.values.sorted { ($0.change, $0.item.id) < ($1.change, $1.item.id) }
        var deleted: [Int64] = []
        if let ids = value("ids")?.split(separator: ",").compactMap({ Int64($0) }) {
            entries.removeAll { !ids.contains($0.item.id) }
            return self.page(entries, deleted, cursor: nil, hasMore: false)
        }
        let cursor = value("since") ?? value("cursor")
        let since = cursor.map { Int($0.dropFirst()) ?? .max } ?? 0
        guard since <= self.change else { return Self.problem(.invalidCursor) }
        if cursor != nil {
            if since == self.change, request.tag == "\"c\(since)\"" {
                return TestAnswer(304, fields: ["ETag": "\"c\(since)\""])
            }
            deleted = self.removed.filter { $0.value > since }.keys.sorted()
        }
        entries.removeAll { $0.change <= since }
        let limit = max(1, value("limit").flatMap { Int($0) } ?? 500)
        let hasMore = entries.count > limit
        let shown = Array(entries.prefix(limit))
        return self.page(shown, deleted, cursor: hasMore ? shown.last?.change : self.change, hasMore: hasMore)
    }

    private func page(_ entries: [Entry], _ deleted: [Int64], cursor: Int?, hasMore: Bool) -> TestAnswer {
        let items = entries.map { entry in
            JSONValue.object(entry.item.json.members.filter { !entry.item.isReadOnce || $0.name != "Payload" })
        }
        let list = JSONValue.object([
            .init("Notifications", .array(items)), .init("Deleted", .array(deleted.map { .number($0) })),
            .init("Cursor", cursor.map { .string("c\($0)") } ?? .null), .init("More", .bool(hasMore)),
        ])
        return TestAnswer(200, body: list.bytes)
    }

    // MARK: - Private

    private mutating func put(_ item: NotificationItem) {
        self.change += 1
        self.entries[item.id] = Entry(item: item, change: self.change)
    }

    private mutating func mark(_ id: Int64, isRead: Bool) {
        guard let item = self.entries[id]?.item, item.isRead != isRead else { return }
        self.put(
            NotificationItem(
                id: id,
                payload: item.payload,
                isRead: isRead,
                createdAt: item.createdAt,
                expiresAt: item.expiresAt,
                isReadOnce: item.isReadOnce
            )
        )
    }

    static func problem(_ code: ProblemCode, _ fields: [String: String] = [:]) -> TestAnswer {
        let fields = fields.merging(["Content-Type": Problem.contentType]) { $1 }
        return TestAnswer(code.status, fields: fields, body: Problem(code).json.bytes)
    }
}

extension JSONValue {
    fileprivate var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }
}
