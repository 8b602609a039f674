import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// All lists have the same paging: the parameters `limit` and `cursor`, and the members `Cursor`
/// and `More` of the answer.
@Suite(.timeLimit(.minutes(5))) struct PagingTests {
    struct List: Sendable, CustomTestStringConvertible {
        let path: String
        let entries: String
        let user: String
        /// The name that the parameter `cursor` had in earlier versions.
        var older: String?
        var badCursor = ProblemCode.invalidCursor

        var testDescription: String { self.path }
    }

    private static let lists = [
        List(path: Paths.users, entries: "Users", user: "ada", older: "after"),
        List(path: Paths.tokens, entries: "Tokens", user: "ada", older: "after"),
        List(path: "\(Paths.tokens)?user=bob", entries: "Tokens", user: "ada", older: "after"),
        List(path: Paths.audit, entries: "Entries", user: "ada", older: "before"),
        List(path: Paths.events, entries: "Events", user: "ada", older: "since"),
        List(path: Paths.events, entries: "Events", user: "paul", older: "since"),
        List(path: Paths.devices, entries: "Devices", user: "ada"),
        List(path: "\(Paths.devices)?user=Bob", entries: "Devices", user: "ada"),
        List(path: Paths.notifications, entries: "Notifications", user: "alice", older: "since"),
        List(
            path: "/api/notifications/{id}/deliveries",
            entries: "Deliveries",
            user: "ada",
            badCursor: .invalidParameter
        ),
    ]

    /// A server with entries in each list, and the id of one of its notifications.
    private struct Filled {
        let fixture: ServerFixture
        let notification: String
    }

    /// All tests use this server, because they only read.
    private static let filled = Task.detached {
        let fixture = try await ServerFixture()
        var last = ""
        for number in 0..<5 {
            for name in ["alice", "bob"] {
                let user = try await fixture.storage.user(name)
                try await fixture.storage.addDevice(of: user, handle: "\(name)-\(number)", tags: ["all"])
                try await fixture.send(.post, Paths.sessions, user: name)
            }
            // The clock advances only every second time, so some entries have the same time.
            if number.isMultiple(of: 2) { fixture.clock.advance(by: 1) }
            last = try await fixture.post(#"{"Payload":1,"To":["all"]}"#)
        }
        for delivery in try await fixture.storage.lease(limit: 5) {
            try await fixture.storage.settle(delivery, as: .accepted(providerID: nil))
        }
        // This request puts ada's password into the server's cache, which already has the other
        // users' passwords. Without this request, many tests would make their first sign-in at the
        // same time, and the server would refuse some of them.
        #expect(try await fixture.send(.get, Paths.users, user: "ada").status == .ok)
        // The first fetch appears in the lists of devices and deliveries; later fetches do not
        // change these lists.
        #expect(try await fixture.send(.get, Paths.notifications, user: "alice").status == .ok)
        try await fixture.storage.store.writeReceipts()
        return Filled(fixture: fixture, notification: String(last.split(separator: "/").last ?? ""))
    }

    private let fixture: ServerFixture
    private let notification: String

    init() async throws {
        let filled = try await Self.filled.value
        (self.fixture, self.notification) = (filled.fixture, filled.notification)
    }

    private func get(_ list: List, _ query: String) async throws -> Response {
        let path = list.path.filled(with: self.notification)
        let separator = path.contains("?") ? "&" : "?"
        return try await self.fixture.send(.get, path + separator + query, user: list.user)
    }

    /// Returns all entries of the list, read in pages of `size` entries.
    private func walk(_ list: List, by size: Int, _ parameter: String) async throws -> [JSONValue] {
        var (entries, query) = ([JSONValue](), "limit=\(size)")
        for _ in 0..<100 {
            let answer = try await self.get(list, query).json
            guard case .array(let page)? = answer[list.entries] else { throw StoreFixture.Missing(list.entries) }
            entries += page
            guard answer["More"] == .bool(true) else { return entries }
            #expect(page.count == size)
            query = "limit=\(size)&\(parameter)=\(try #require(answer["Cursor"]?.text))"
        }
        throw StoreFixture.Missing("the list has no end")
    }

    @Test(arguments: Self.lists, [1, 2, 3])
    func thePagesTogetherFormTheWholeList(list: List, size: Int) async throws {
        let whole = try await self.walk(list, by: 500, "cursor")
        #expect(whole.count >= 4)
        #expect(Set(whole).count == whole.count)
        #expect(try await self.walk(list, by: size, "cursor") == whole)
        if let older = list.older { #expect(try await self.walk(list, by: size, older) == whole) }
    }

    @Test(arguments: Self.lists)
    func theLastPageHasACursorToAnEmptyPage(list: List) async throws {
        let end = try await self.get(list, "limit=500").json
        let cursor = try #require(end["Cursor"]?.text)
        let rest = try await self.get(list, "cursor=\(cursor)").json
        #expect(rest[list.entries] == .array([]))
        #expect(rest["More"] == .bool(false))
        #expect(rest["Cursor"] == .string(cursor))
    }

    @Test(arguments: Self.lists, ["", "%20", "a%20b", "%C3%A4", "-1", "1.", "1.0", "x.1", "9223372036854775808"])
    func anInvalidCursorIsRefused(list: List, cursor: String) async throws {
        // In the list of users, a cursor is a user name, so the server accepts any valid name.
        if list.path == Paths.users, !cursor.contains("%"), !cursor.isEmpty { return }
        // In the audit, a cursor is the number of an entry, so the server accepts any valid
        // number.
        if list.path == Paths.audit, Int64(cursor) ?? 0 > 0 { return }
        try await self.get(list, "cursor=\(cursor)").expectProblem(list.badCursor, "cursor")
    }

    @Test(arguments: Self.lists)
    func twoNamesForTheCursorAreRefused(list: List) async throws {
        guard let older = list.older else { return }
        let cursor = try #require(try await self.get(list, "limit=1").json["Cursor"]?.text)
        #expect(try await self.get(list, "\(older)=\(cursor)").status == .ok)
        try await self.get(list, "\(older)=\(cursor)&cursor=\(cursor)")
            .expectProblem(.invalidParameter, "cursor and \(older) cannot be combined")
    }

    @Test func anEmptyListHasNoCursor() async throws {
        let tokens = try await self.fixture.send(.get, "\(Paths.tokens)?user=nobody", user: "ada")
        #expect(tokens.text == #"{"Tokens":[],"Cursor":null,"More":false}"#)
        let devices = try await self.fixture.send(.get, "\(Paths.devices)?user=paul", user: "ada")
        #expect(devices.text == #"{"Devices":[],"Cursor":null,"More":false}"#)
    }
}
