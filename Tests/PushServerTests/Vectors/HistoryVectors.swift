import Foundation
import HTTPTypes
import PushAPI
import PushTesting
import Testing

/// `histories.json`: series of devices' requests with their answers, and the inbox that results
/// from each series.
enum HistoryVectors {
    static func file() async throws -> JSONValue {
        .members(
            (
                "histories",
                .array([
                    try await self.firstPage(), try await self.severalPages(), try await self.changes(),
                    try await self.tombstonesOfTheUnseen(), try await self.expiry(), try await self.aClockThatIsAhead(),
                    try await self.payloadsThatMustNotBeStored(), try await self.anotherServer(),
                    try await self.anotherServerWithSeveralPages(),
                ])
            )
        )
    }

    private static func firstPage() async throws -> JSONValue {
        let server = try await VectorServer()
        var history = History("a first page, then nothing new", server)
        try await history.sync()
        for id in [7, 8, 9] as [Int64] { try await server.post(id, #""payload \#(id)""#) }
        server.advance(by: 10)
        try await history.sync()
        server.advance(by: 10)
        try await history.sync()
        return history.json
    }

    private static func severalPages() async throws -> JSONValue {
        let server = try await VectorServer()
        var history = History("more than one page", server, limit: 2)
        for id in [7, 3, 9, 1, 5] as [Int64] {
            try await server.post(id, #""payload \#(id)""#)
            server.advance(by: 1)
        }
        try await history.sync()
        return history.json
    }

    private static func changes() async throws -> JSONValue {
        let server = try await VectorServer()
        var history = History("read, not read, dismissed, recalled", server)
        for id in 1...4 as ClosedRange<Int64> { try await server.post(id, #""payload \#(id)""#) }
        try await history.sync()
        server.advance(by: 1)
        for id in [1, 2] { _ = try await server.ask(.patch, "/api/notifications/\(id)", body: #"{"Read":true}"#) }
        try await history.sync()
        server.advance(by: 1)
        _ = try await server.ask(.patch, "/api/notifications/2", body: #"{"Read":false}"#)
        _ = try await server.ask(.delete, "/api/notifications/3")
        _ = try await server.ask(.delete, "/api/notifications/4", user: "paul")
        try await history.sync()
        return history.json
    }

    private static func tombstonesOfTheUnseen() async throws -> JSONValue {
        let server = try await VectorServer()
        var history = History("came and went between two visits", server)
        try await server.post(1, #""stays""#)
        try await history.sync()
        try await server.post(2, #""goes""#)
        _ = try await server.ask(.delete, "/api/notifications/2")
        try await history.sync()
        return history.json
    }

    private static func expiry() async throws -> JSONValue {
        let server = try await VectorServer()
        var history = History("expired: told by the server's time, and not in Deleted", server)
        try await server.post(1, #""short""#, lifetime: 60)
        try await server.post(2, #""long""#, lifetime: 6000)
        try await history.sync()
        server.advance(by: 59)
        try await history.sync()
        server.advance(by: 1)
        try await history.sync()
        return history.json
    }

    private static func aClockThatIsAhead() async throws -> JSONValue {
        let server = try await VectorServer()
        var history = History("a device's clock is a day ahead, and is put right: nothing is lost", server)
        try await server.post(1, #""one""#, lifetime: 3600)
        // In this history, the clients' tests do not compare signatures with the device's clock. A
        // client that pins a key would refuse all answers while that clock is a day ahead.
        try await history.sync()
        server.advance(by: 1)
        try await history.sync(clockIsAheadBy: 86_400)
        server.advance(by: 1)
        try await history.sync()
        return history.json
    }

    private static func payloadsThatMustNotBeStored() async throws -> JSONValue {
        let server = try await VectorServer()
        var history = History("read once, and never stored", server)
        try await server.post(1, #""may be kept""#)
        try await server.post(2, #""collected with a fetch of its own""#, isReadOnce: true)
        try await server.post(3, #""shown, and not kept""#, isStoredByClients: false)
        try await history.sync()
        return history.json
    }

    private static func anotherServer() async throws -> JSONValue {
        let (first, second) = (try await VectorServer(), try await VectorServer(keyring: 2))
        var history = History("the cursor is unknown: all begins anew", first)
        for id in 1...3 as ClosedRange<Int64> { try await first.post(id, #""payload \#(id)""#) }
        try await history.sync()
        history.server = second
        second.advance(by: 60)
        for id in [2, 4] as [Int64] { try await second.post(id, #""payload \#(id) of the other""#) }
        try await history.sync()
        return history.json
    }

    private static func anotherServerWithSeveralPages() async throws -> JSONValue {
        let (first, second) = (try await VectorServer(), try await VectorServer(keyring: 2))
        var history = History("the cursor is unknown, and what is new has two pages", first, limit: 2)
        for id in 1...2 as ClosedRange<Int64> { try await first.post(id, #""payload \#(id)""#) }
        try await history.sync()
        history.server = second
        second.advance(by: 60)
        for id in [5, 6, 1] as [Int64] { try await second.post(id, #""payload \#(id) of the other""#) }
        try await history.sync()
        return history.json
    }
}

/// The syncs of one device, with a simple model of its inbox.
private struct History {
    let name: String
    var server: VectorServer
    private let limit: Int
    private var cursor: String?
    private var cached: [Int64: JSONValue] = [:]
    private var steps: [JSONValue] = []

    init(_ name: String, _ server: VectorServer, limit: Int = 500) {
        (self.name, self.server, self.limit) = (name, server, limit)
    }

    var json: JSONValue {
        .members(("name", .string(self.name)), ("steps", .array(self.steps)))
    }

    /// Requests all pages, and then compares the inbox with the server's notifications.
    mutating func sync(clockIsAheadBy seconds: TimeInterval = 0) async throws {
        var isRestart = false
        while true {
            let query = "limit=\(self.limit)" + (isRestart ? "" : self.cursor.map { "&since=\($0)" } ?? "")
            let condition = isRestart ? nil : self.cursor.map { "\"\($0)\"" }
            let exchange = try await self.server.ask(.get, "/api/notifications?\(query)", condition: condition)
            let next = try self.take(exchange, isRestart: isRestart, clockIsAheadBy: seconds)
            isRestart = next == "restart"
            if next == "done" { break }
        }
        let all = try await self.server.ask(.get, "/api/notifications?limit=500")
        let list = try JSONValue(reading: all.body)
        guard case .array(let items)? = list["Notifications"] else { throw StoreFixture.Missing("no list") }
        #expect(
            items.compactMap { $0["Id"]?.integer }.sorted() == self.cached.keys.map { Int($0) }.sorted(),
            "\(self.name)"
        )
    }

    private mutating func take(
        _ exchange: VectorExchange,
        isRestart: Bool,
        clockIsAheadBy seconds: TimeInterval
    ) throws -> String {
        let now = self.server.fixture.clock.now
        let before = Set(self.cached.keys)
        var (arrived, deleted): (Set<Int64>, Set<Int64>) = ([], [])
        var uncached: [Int64] = []
        var next = "done"
        if exchange.status == 400 {
            next = "restart"
        } else {
            if exchange.status == 200 {
                let page = try JSONValue(reading: exchange.body)
                guard case .array(let items)? = page["Notifications"], case .array(let gone)? = page["Deleted"] else {
                    throw StoreFixture.Missing("no list")
                }
                if isRestart { self.cached = [:] }
                for item in items {
                    let id = Int64(try #require(item["Id"]?.integer))
                    if item["Store"]?.text == "never" { uncached.append(id) }
                    self.cached[id] = Self.cached(item)
                    arrived.insert(id)
                }
                deleted = Set(gone.compactMap { $0.integer.map(Int64.init) })
                for id in deleted { self.cached[id] = nil }
                self.cursor = page["Cursor"]?.text
                if page["More"] == .bool(true) { next = "more" }
            }
            self.cached = self.cached.filter { Self.time("ExpiresAt", of: $0.value) > now }
        }
        let present = Set(self.cached.keys)
        self.steps.append(
            .members(
                ("serverTime", .number(Int(now.timeIntervalSince1970))),
                ("deviceTime", .number(Int((now + seconds).timeIntervalSince1970))),
                ("restarts", .bool(isRestart)),
                ("request", exchange.request),
                ("answer", exchange.answer),
                ("next", .string(next)),
                ("cursor", .optional(self.cursor)),
                ("cached", .array(self.cached.sorted { $0.key < $1.key }.map(\.value))),
                ("shown", Self.ids(self.shown(at: now + seconds))),
                ("uncached", Self.ids(uncached.sorted())),
                ("arrived", Self.ids(arrived.intersection(present).sorted())),
                ("deleted", Self.ids(deleted.union(before).subtracting(present).sorted()))
            )
        )
        return next
    }

    /// Returns the ids of the notifications that the device shows at `date`, the oldest first.
    private func shown(at date: Date) -> [Int64] {
        self.cached.filter { Self.time("ExpiresAt", of: $0.value) > date }
            .sorted { (Self.time("CreatedAt", of: $0.value), $0.key) < (Self.time("CreatedAt", of: $1.value), $1.key) }
            .map(\.key)
    }

    private static func ids(_ ids: [Int64]) -> JSONValue { .array(ids.map { .number($0) }) }

    private static func time(_ member: String, of item: JSONValue) -> Date {
        item[member]?.text.flatMap { Date(rfc3339: $0) } ?? .distantPast
    }

    /// Returns the item without the members that a client must not store on disk.
    private static func cached(_ item: JSONValue) -> JSONValue {
        guard case .object(let members) = item else { return item }
        let isNeverStored = item["Store"]?.text == "never"
        return .object(members.filter { $0.name != "Store" && !(isNeverStored && $0.name == "Payload") })
    }
}
