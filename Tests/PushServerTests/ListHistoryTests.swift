import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// Lists stay correct after any sequence of changes to a user's notifications.
@Suite(.timeLimit(.minutes(5))) struct ListHistoryTests {
    /// A device's copy of the list, made from the pages that the device has fetched.
    private struct Copy {
        var items: [Int: JSONValue] = [:]
        var cursor: String?

        mutating func apply(_ page: Response) throws {
            let json = try page.json
            guard case .array(let items)? = json["Notifications"] else { throw StoreFixture.Missing("no items") }
            for item in items { self.items[try #require(item["Id"]?.integer)] = item }
            for id in try page.listed.deleted { self.items[id] = nil }
            self.cursor = try page.listed.cursor
        }

        /// Returns the items that a client shows. The client itself removes expired notifications.
        func shown(at now: Date) -> [Int: JSONValue] {
            self.items.filter { item in
                item.value["ExpiresAt"]?.text.flatMap { Date(rfc3339: $0) }.map { $0 > now } ?? false
            }
        }
    }

    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    @Test(arguments: 0..<8, [1, 2, 3, 7, 500]) func anIncrementalCopyEqualsTheList(seed: Int, limit: Int) async throws {
        var history = History(self.fixture, seed: UInt64(seed * 1000 + limit))
        for query in ["", "unread=true&"] {
            var copies = ["alice": Copy(), "bob": Copy()]
            for _ in 0..<6 {
                for _ in 0..<Int.random(in: 0...6, using: &history.random) { try await history.step() }
                for user in ["alice", "bob"] {
                    var copy = try #require(copies[user])
                    while true {
                        let page = try await self.page(query, limit, copy.cursor, user)
                        try copy.apply(page)
                        if try !page.listed.hasMore { break }
                        // The list may also change while a client fetches its pages. The client
                        // then fetches more pages until its copy is complete.
                        if Bool.random(using: &history.random) { try await history.step() }
                    }
                    copies[user] = copy
                    var fresh = Copy()
                    try await self.sync(&fresh, query, 500, user)
                    let now = self.fixture.clock.now
                    #expect(copy.shown(at: now) == fresh.shown(at: now), "\(user) \(query): \(history.log)")
                    let there = try await self.there(for: user, in: history, isUnreadOnly: !query.isEmpty)
                    #expect(fresh.items == there, "\(user) \(query): \(history.log)")
                }
            }
        }
    }

    @Test(arguments: 0..<6) func theEntityTagChangesExactlyWithTheBytes(seed: Int) async throws {
        var history = History(self.fixture, seed: UInt64(seed))
        var cursors: [String] = []
        // For each query, the bodies of the list by their entity tags, and the entity tags by
        // their bodies.
        var bodies: [String: [String: String]] = [:]
        var tags: [String: [String: String]] = [:]
        for step in 0..<40 {
            try await history.step()
            let newest = try await self.page("", 500, nil, "alice").listed.cursor
            if step.isMultiple(of: 8) { cursors.append("?since=\(newest)&") }
            let ids = history.recipients.keys.sorted().prefix(5).map(String.init).joined(separator: ",")
            let named = ids.isEmpty ? [] : ["?ids=\(ids)&"]
            for query in ["?", "?limit=2&", "?unread=true&", "?unread=true&limit=3&"] + cursors + named {
                let target = Paths.notifications + query.dropLast()
                let response = try await self.fixture.send(.get, target)
                let tag = try #require(response.fields[.eTag])
                #expect(bodies[query, default: [:]][tag] ?? response.text == response.text, "\(query): \(history.log)")
                // A list of given ids contains no cursor. If a user marks a notification as read
                // and then as unread, this list has the same bytes, but a new entity tag.
                let isNamed = query.hasPrefix("?ids=")
                let earlier = isNamed ? tag : tags[query, default: [:]][response.text]
                #expect(earlier ?? tag == tag, "\(query): \(history.log)")
                bodies[query, default: [:]][tag] = response.text
                tags[query, default: [:]][response.text] = tag
                let again = try await self.fixture.send(.get, target, headers: [("If-None-Match", tag)])
                #expect(again.status == .notModified)
            }
        }
        #expect(bodies.values.map(\.count).reduce(0, +) > 40)
    }

    /// A client that sends an earlier `Last-Modified` as `If-Modified-Since` gets 304 only if the
    /// list is unchanged.
    @Test(arguments: 0..<6) func lastModifiedNeverHidesAChange(seed: Int) async throws {
        var history = History(self.fixture, seed: UInt64(seed))
        var known: [String: (date: String, body: String)] = [:]
        var (dates, unchanged) = (0, 0)
        for _ in 0..<60 {
            try await history.step()
            for query in ["", "?unread=true", "?limit=2"] {
                let target = Paths.notifications + query
                if let (date, body) = known[query] {
                    let answer = try await self.fixture.send(.get, target, headers: [("If-Modified-Since", date)])
                    let now = try await self.fixture.send(.get, target)
                    if answer.status == .notModified {
                        #expect(now.text == body, "\(query): \(history.log)")
                        unchanged += 1
                    }
                }
                let response = try await self.fixture.send(.get, target)
                guard let date = response.fields[.lastModified] else { continue }
                known[query] = (date, response.text)
                dates += 1
            }
        }
        #expect(dates > 5)
        #expect(unchanged > 0)
    }

    // MARK: - Private

    /// Fetches, one by one, the notifications that have the user as a recipient.
    private func there(
        for user: String,
        in history: History,
        isUnreadOnly: Bool
    ) async throws -> [Int: JSONValue] {
        var items: [Int: JSONValue] = [:]
        for (id, recipients) in history.recipients where recipients.contains(user) {
            let path = Paths.notification(Int64(id))
            // A GET would lease a read-once payload, and a HEAD request does not.
            let head = try await self.fixture.send(.head, path, user: user)
            guard head.status == .ok else { continue }
            guard head.fields[.cacheControl] == "no-store" else {
                items[id] = try await self.fixture.send(.get, path, user: user).json
                continue
            }
            let named = try await self.fixture.send(.get, "\(Paths.notifications)?ids=\(id)", user: user).json
            if case .array(let found)? = named["Notifications"], let item = found.first { items[id] = item }
        }
        return isUnreadOnly ? items.filter { $0.value["Read"] == .bool(false) } : items
    }

    private func page(_ query: String, _ limit: Int, _ cursor: String?, _ user: String) async throws -> Response {
        let since = cursor.map { "&since=\($0)" } ?? ""
        let target = "\(Paths.notifications)?\(query)limit=\(limit)\(since)"
        let response = try await self.fixture.send(.get, target, user: user)
        #expect(response.status == .ok, "\(response.text)")
        return response
    }

    private func sync(_ copy: inout Copy, _ query: String, _ limit: Int, _ user: String) async throws {
        while true {
            let page = try await self.page(query, limit, copy.cursor, user)
            try copy.apply(page)
            if try !page.listed.hasMore { return }
        }
    }
}

/// A random sequence of changes. Each seed always gives the same sequence.
private struct History {
    let fixture: ServerFixture
    var random: SplitMix
    private(set) var recipients: [Int: Set<String>] = [:]
    private(set) var log: [String] = []

    init(_ fixture: ServerFixture, seed: UInt64) {
        self.fixture = fixture
        self.random = SplitMix(state: seed)
    }

    mutating func step() async throws {
        let user = ["alice", "bob"].randomElement(using: &self.random) ?? "alice"
        let id = self.recipients.keys.sorted().randomElement(using: &self.random) ?? 1
        let path = Paths.notification(Int64(id))
        let roll = Int.random(in: 0..<17, using: &self.random)
        switch roll {
        case 0...4:
            try await self.post(to: [["alice"], ["bob"], ["alice", "bob"]].randomElement(using: &self.random) ?? [])
        case 5, 6: try await self.fixture.send(.patch, path, user: user, body: #"{"Read":true}"#)
        case 7: try await self.fixture.send(.patch, path, user: user, body: #"{"Read":false}"#)
        case 8: try await self.fixture.send(.post, Paths.readNotifications, user: user, body: #"{"Ids":[\#(id)]}"#)
        case 9: try await self.fixture.send(.delete, path, user: user)
        case 10: try await self.fixture.send(.delete, path, user: "paul")
        case 11:
            // With a page size of 0, the recall acts as if the notification had too many
            // recipients to notify each of them.
            guard let id = NotificationID(rawValue: Int64(id)) else { break }
            let store = self.fixture.storage.store
            _ = try await store.recall(id, by: .administrator, recording: nil, page: 0, now: self.fixture.clock.now)
        case 12: try await self.fixture.send(.get, path, user: user)
        case 13, 14:
            self.fixture.clock.advance(by: [0.3, 0.7, 1, 5, 60].randomElement(using: &self.random) ?? 1)
            // In a running server, a background task makes this call.
            _ = try await self.fixture.storage.store.endLeases(now: self.fixture.clock.now, limit: 100)
        case 15: try await self.fixture.send(.post, "\(path)/taken", user: user)
        default: _ = try await self.fixture.storage.store.deleteExpired(now: self.fixture.clock.now, page: 3)
        }
        self.log.append("\(roll) \(user) \(id)")
    }

    private mutating func post(to users: [String]) async throws {
        let to = users.map { "\"username:\($0)\"" }.joined(separator: ",")
        let rest =
            ["", "", #","ReadOnce":true"#, #","ExpiresIn":2"#, #","ExpiresIn":9,"Store":"never""#]
            .randomElement(using: &self.random) ?? ""
        let body = #"{"Payload":"\#(self.log.count)","To":[\#(to)]\#(rest)}"#
        let path = try await self.fixture.post(body)
        self.recipients[try #require(path.split(separator: "/").last.flatMap { Int($0) })] = Set(users)
    }
}

/// The generator SplitMix64 from Steele, Lea and Flood: "Fast splittable pseudorandom number
/// generators" (2014).
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
