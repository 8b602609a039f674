import CivilTime
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The notifications that `GET /api/notifications` lists for a user, and the position at which the
/// list begins.
@Suite(.eachReader, .timeLimit(.minutes(5))) struct ListTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
    }

    /// Posts a notification and returns its id.
    private func post(_ body: String = #"{"Payload":"x"}"#, user: String = "alice") async throws -> Int {
        let path = try await self.fixture.post(body, user: user)
        return try #require(path.split(separator: "/").last.flatMap { Int($0) })
    }

    private func list(
        _ query: String = "",
        user: String = "alice",
        _ headers: [(String, String)] = []
    ) async throws -> Response {
        try await self.fixture.send(.get, "/api/notifications\(query)", user: user, headers: headers)
    }

    private func cursor(_ query: String = "", user: String = "alice") async throws -> String {
        try #require(try await self.list(query, user: user).json["Cursor"]?.text)
    }

    // MARK: Items

    @Test func anEmptyListHasAllItsMembers() async throws {
        let response = try await self.list()
        #expect(response.status == .ok)
        #expect(response.fields[.contentType] == "application/json; charset=utf-8")
        let pattern = /{"Notifications":\[\],"Deleted":\[\],"Cursor":"[-_A-Za-z0-9]{22}","More":false}/
        #expect(try pattern.wholeMatch(in: response.text) != nil, "\(response.text)")
    }

    @Test func listedItemsEqualTheSingleAnswers() async throws {
        var alone: [String] = []
        for payload in [#""x""#, #"{"a":[1,2.50,null]}"#, #""é\n\"""#, "0", #""""#] {
            let id = try await self.post(#"{"Payload":\#(payload)}"#)
            alone.append(try await self.fixture.send(.get, Paths.notification(Int64(id))).text)
        }
        let response = try await self.list()
        #expect(response.text.hasPrefix(#"{"Notifications":[\#(alone.joined(separator: ","))],"Deleted":[],"#))
        let view = try await self.view(user: "alice")
        #expect(view.length == response.body.count)
    }

    @Test func aReadOnceNotificationIsListedWithoutItsPayload() async throws {
        let id = try await self.post(#"{"Payload":"treasure","ReadOnce":true}"#)
        let response = try await self.list()
        let now = self.fixture.clock.now
        let item =
            #"{"Id":\#(id),"Read":false,"CreatedAt":"\#(now.rfc3339)","ExpiresAt":"\#((now + 2_592_000).rfc3339)","#
            + #""ReadOnce":true}"#
        #expect(response.text.hasPrefix(#"{"Notifications":[\#(item)],"#), "\(response.text)")
        #expect(response.fields[.cacheControl] == "no-store")
        #expect(try await self.view(user: "alice").length == response.body.count)
        #expect(try await self.fixture.send(.get, Paths.notification(Int64(id))).status == .ok, "nothing was taken")
    }

    @Test func anUncacheableNotificationIsMarkedInTheList() async throws {
        for store in ["cacheable", "never"] { _ = try await self.post(#"{"Payload":1,"Store":"\#(store)"}"#) }
        let response = try await self.list()
        #expect(response.text.matches(of: /"Store":"never"}/).count == 1, "\(response.text)")
        #expect(try await self.view(user: "alice").length == response.body.count)
    }

    @Test func onlyRecipientsSeeANotificationInTheirList() async throws {
        let id = try await self.post(#"{"Payload":1,"To":["username:bob"]}"#, user: "paul")
        #expect(try await self.list(user: "paul").listed.items == [])
        #expect(try await self.list(user: "alice").listed.items == [])
        #expect(try await self.list(user: "ada").listed.items == [])
        #expect(try await self.list(user: "bob").listed.items == [id])
    }

    @Test func aListIsAReceiptForThePayloadsInIt() async throws {
        let alice = try await self.fixture.storage.user("alice")
        try await self.fixture.storage.addDevice(of: alice, handle: "handle")
        let (path, once) = (
            try await self.fixture.post(#"{"Payload":1,"To":["username:alice"]}"#),
            try await self.fixture.post(#"{"Payload":1,"To":["username:alice"],"ReadOnce":true}"#)
        )
        for delivery in try await self.fixture.storage.lease() {
            try await self.fixture.storage.settle(delivery, as: .accepted(providerID: nil))
        }
        func fetched(_ path: String) async throws -> Int? {
            // The server stores the receipt of a fetch after it has answered the fetch.
            // `writeReceipts` waits until all receipts are stored.
            try await self.fixture.storage.store.writeReceipts()
            let report = try await self.fixture.send(.get, "\(path)/deliveries", user: "paul")
            return try report.json["Counts"]?["fetched"]?.integer
        }
        try await self.fixture.send(.head, Paths.notifications)
        #expect(try await fetched(path) == 0)
        let cursor = try await self.cursor()
        #expect(try await fetched(path) == 1)
        #expect(try await fetched(once) == 0)
        #expect(try await self.cursor() == cursor, "which changes nothing of what is seen")
    }

    // MARK: Cursors

    @Test func aCursorListsOnlyLaterNotifications() async throws {
        let one = try await self.post()
        let cursor = try await self.cursor()
        #expect(try await self.list("?since=\(cursor)").listed == Listed(cursor: cursor))
        let two = try await self.post()
        let next = try await self.list("?since=\(cursor)")
        #expect(try next.listed.items == [two])
        #expect(try await self.list().listed.items == [one, two])
        #expect(try await self.cursor() == next.listed.cursor)
    }

    @Test func pagesFollowEachOther() async throws {
        var ids: [Int] = []
        for _ in 0..<7 { ids.append(try await self.post()) }
        var (seen, query, pages): ([Int], String, Int) = ([], "?limit=3", 0)
        while true {
            let page = try await self.list(query).listed
            seen += page.items
            pages += 1
            query = "?limit=3&since=\(page.cursor)"
            if !page.hasMore { break }
        }
        #expect(seen == ids)
        #expect(pages == 3)
    }

    @Test func dismissedTakenAndRecalledNotificationsAreTombstones() async throws {
        let (away, taken) = (try await self.post(), try await self.post(#"{"Payload":1,"ReadOnce":true}"#))
        let recalled = try await self.post(#"{"Payload":1,"To":["username:alice"]}"#, user: "paul")
        let cursor = try await self.cursor()
        try await self.fixture.send(.delete, Paths.notification(Int64(away)))
        try await self.fixture.send(.delete, Paths.notification(Int64(recalled)), user: "paul")
        try await self.fixture.send(.get, Paths.notification(Int64(taken)))
        try await self.fixture.send(.post, Paths.taken(Int64(taken)))
        let page = try await self.list("?since=\(cursor)").listed
        #expect(page.items == [])
        #expect(page.deleted == [away, recalled, taken])
        #expect(try await self.list().listed == Listed(cursor: page.cursor))
    }

    @Test func expiredNotificationsAreNotAmongTheTombstones() async throws {
        let cursor = try await self.cursor()
        _ = try await self.post(#"{"Payload":1,"ExpiresIn":10}"#)
        let away = try await self.post(#"{"Payload":1,"ExpiresIn":10}"#)
        try await self.fixture.send(.delete, Paths.notification(Int64(away)))
        self.fixture.clock.advance(by: 10)
        let page = try await self.list("?since=\(cursor)")
        #expect(try page.listed == Listed(cursor: cursor))
        #expect(page.fields[.eTag] == "\"\(cursor)\"")
        while try await self.fixture.storage.store.deleteExpired(now: self.fixture.clock.now, page: 10) {}
        #expect(try await self.list("?since=\(cursor)").text == page.text)
    }

    @Test func aCursorIsStableAndValidForOneUserOnly() async throws {
        _ = try await self.post(#"{"Payload":1,"To":["username:alice","username:bob"]}"#, user: "paul")
        let (alice, bob) = (try await self.cursor(), try await self.cursor(user: "bob"))
        #expect(try await self.cursor() == alice)
        #expect(alice != bob)
        try await self.list("?since=\(bob)").expectProblem(.invalidCursor)
        try await self.list("?since=\(alice)", user: "bob").expectProblem(.invalidCursor)
    }

    @Test(arguments: [
        "", "x", "AAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAAAAAA==",
        "AAAAAAAAAAAAAAAAAAAAA%3D", "%C3%A9AAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAA+", "0", "-1",
    ])
    func anInvalidCursorIsRefused(text: String) async throws {
        try await self.list("?since=\(text)").expectProblem(.invalidCursor)
    }

    @Test func aCursorHasOneSpelling() async throws {
        let cursor = try await self.cursor()
        let last = try #require(cursor.last)
        // Four bits of the cursor's last character encode no byte. They must be zero, so only one
        // spelling of a cursor is valid.
        for other in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" where other != last {
            try await self.list("?since=\(cursor.dropLast())\(other)").expectProblem(.invalidCursor)
        }
    }

    @Test func aCursorOfAFutureChangeIsRefused() async throws {
        let user = try await self.fixture.storage.user("alice").id
        let list = CursorMaker.List(user: user, app: .usual, isUnreadOnly: false)
        let newest = try await self.fixture.storage.reader.newestChange(ofUser: user)
        for (change, isGood) in [(0, true), (newest, true), (newest + 1, false), (.max, false)] as [(Int64, Bool)] {
            let cursor = CursorMaker(key: self.fixture.storage.store.indexSecret.derive("cursor")).cursor(
                at: change,
                of: list
            )
            #expect(try await self.list("?since=\(cursor)").status == (isGood ? .ok : .badRequest), "\(change)")
        }
    }

    @Test func cursorsOfTheUnreadAndTheFullListDiffer() async throws {
        let (all, unread) = (try await self.cursor(), try await self.cursor("?unread=true"))
        try await self.list("?since=\(unread)").expectProblem(.invalidCursor)
        try await self.list("?unread=true&since=\(all)").expectProblem(.invalidCursor)
        #expect(try await self.list("?unread=false&since=\(all)").status == .ok)
        #expect(try await self.list("?unread=true&since=\(unread)").status == .ok)
    }

    // MARK: Parameters

    @Test(arguments: [
        "limit=0", "limit=501", "limit=x", "limit=-1", "limit=", "unread=yes", "unread=", "unread=True", "ids=",
        "ids=x",
        "ids=1,", "ids=,1", "ids=0", "ids=-1", "ids=1,,2", "ids=01", "ids=1&ids=2", "ids=1&limit=5",
        "ids=1&unread=true",
        "ids=9223372036854775808", "limit=1&limit=2", "since=a&since=b", "ids=1&since=x",
    ])
    func aBadParameterIsNamed(query: String) async throws {
        let name = try #require(query.split(separator: "=").first.map(String.init))
        try await self.list("?\(query)").expectProblem(.invalidParameter, name)
    }

    @Test func notificationsAreListedByTheirIDs() async throws {
        var ids: [Int] = []
        for _ in 0..<4 { ids.append(try await self.post()) }
        let foreign = try await self.post(user: "bob")
        try await self.fixture.send(.delete, Paths.notification(Int64(ids[1])))
        let response = try await self.list("?ids=\(ids[2]),\(foreign),\(ids[1]),1,\(ids[0]),\(ids[2])")
        let now = self.fixture.clock.now
        let items = [ids[0], ids[2]].map {
            #"{"Id":\#($0),"Payload":"x","Read":false,"CreatedAt":"\#(now.rfc3339)","#
                + #""ExpiresAt":"\#((now + 2_592_000).rfc3339)"}"#
        }
        #expect(response.text == #"{"Notifications":[\#(items.joined(separator: ","))],"Deleted":[],"More":false}"#)
    }

    @Test func atMost500IDsMayBeListed() async throws {
        let ids = (1...500).map(String.init).joined(separator: ",")
        #expect(try await self.list("?ids=\(ids)").status == .ok)
        try await self.list("?ids=\(ids),501").expectProblem(.invalidParameter, "500")
    }

    // MARK: Validators

    @Test func theCursorIsTheEntityTagOfAnEmptyPage() async throws {
        _ = try await self.post()
        let cursor = try await self.cursor()
        let tag = ("If-None-Match", "\"\(cursor)\"")
        let response = try await self.list("?since=\(cursor)")
        #expect(response.fields[.eTag] == tag.1)
        let unchanged = try await self.list("?since=\(cursor)", [tag])
        #expect(unchanged.status == .notModified)
        #expect(unchanged.fields[.eTag] == tag.1)
        #expect(unchanged.body.isEmpty)
        _ = try await self.post()
        #expect(try await self.list("?since=\(cursor)", [tag]).status == .ok)
    }

    @Test(arguments: ["", "?limit=2", "?unread=true", "?ids=1"])
    func aListIsComparedByItsTag(query: String) async throws {
        for _ in 0..<3 { _ = try await self.post() }
        let tag = try #require(try await self.list(query).fields[.eTag])
        #expect(tag.wholeMatch(of: /"[0-9a-f]{32}"/) != nil, "\(tag)")
        #expect(try await self.list(query, [("If-None-Match", tag)]).status == .notModified)
        #expect(try await self.list(query, [("If-None-Match", "\"other\"")]).status == .ok)
        #expect(try await self.fixture.send(.head, "/api/notifications\(query)").fields[.eTag] == tag)
    }

    @Test func lastModifiedIncludesDeletedNotifications() async throws {
        _ = try await self.post(#"{"Payload":1,"ExpiresIn":10}"#)
        self.fixture.clock.advance(by: 5)
        let date = try #require(try await self.list().fields[.lastModified])
        #expect(try await self.list("", [("If-Modified-Since", date)]).status == .notModified)
        self.fixture.clock.advance(by: 6)
        while try await self.fixture.storage.store.deleteExpired(now: self.fixture.clock.now, page: 10) {}
        self.fixture.clock.advance(by: 6)
        #expect(try await self.list("", [("If-Modified-Since", date)]).status == .ok)
    }

    @Test func lastModifiedBeginsAtTheServersStart() async throws {
        self.fixture.clock.advance(by: 100)
        let next = try await ServerFixture(storage: self.fixture.storage)
        self.fixture.clock.advance(by: 5)
        let now = self.fixture.clock.now
        #expect(try await self.list().fields[.lastModified] == HTTPDate(now - 104).description)
        let response = try await next.send(.get, Paths.notifications)
        #expect(response.fields[.lastModified] == HTTPDate(now - 4).description)
    }

    @Test func anIncompleteListHasNoLastModified() async throws {
        for _ in 0..<3 { _ = try await self.post() }
        self.fixture.clock.advance(by: 5)
        #expect(try await self.list("?limit=2").fields[.lastModified] == nil)
        #expect(try await self.list("?limit=3").fields[.lastModified] != nil)
        let date = DateForm.fixed.text(self.fixture.clock.now)
        #expect(try await self.list("?limit=2", [("If-Modified-Since", date)]).status == .ok)
    }

    @Test func listsMustBeRevalidated() async throws {
        _ = try await self.post()
        let response = try await self.list()
        #expect(response.fields[.cacheControl] == "private, no-cache")
        #expect(response.fields[.vary] == "Authorization, Accept-Encoding")
        #expect(response.fields[.expires] == nil)
        _ = try await self.post(#"{"Payload":1,"Store":"never"}"#)
        #expect(try await self.list().fields[.cacheControl] == "no-store")
    }

    // MARK: - Private

    private func view(user: String) async throws -> NotificationListView {
        let id = try await self.fixture.storage.user(user).id
        let range = ChangeRange(after: nil, limit: 100, isUnreadOnly: false)
        let page = try await self.fixture.storage.reader.notifications(range, for: id, now: self.fixture.clock.now) {
            _ in
            false
        }
        return NotificationListView(
            page: page,
            cursor: String(repeating: "x", count: 22),
            tag: EntityTag(description: "\"x\""),
            changedAt: nil,
            prefersGzip: false,
            now: self.fixture.clock.now
        )
    }
}

/// The content of a list of notifications, with only the id of each item.
struct Listed: Hashable {
    var items: [Int] = []
    var deleted: [Int] = []
    var cursor: String
    var hasMore = false
}

extension Response {
    /// The content of the body, which must be a list of notifications.
    var listed: Listed {
        get throws {
            let json = try self.json
            guard
                case .array(let items)? = json["Notifications"], case .array(let deleted)? = json["Deleted"],
                case .bool(let hasMore)? = json["More"]
            else { throw StoreFixture.Missing("\(self.text) is no list") }
            return Listed(
                items: items.compactMap { $0["Id"]?.integer },
                deleted: deleted.compactMap(\.integer),
                cursor: json["Cursor"]?.text ?? "",
                hasMore: hasMore
            )
        }
    }
}
