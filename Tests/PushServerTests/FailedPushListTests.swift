import Cryptography
import Foundation
import HTTPTypes
import PushAPI
import PushCore
import PushStore
import PushTesting
import SocketHTTP
import Testing

@testable import PushServer

/// The list of failed pushes of all notifications, and the list of one notification's recipients.
@Suite(.timeLimit(.minutes(5))) struct FailedPushListTests {
    private let fixture: ServerFixture

    init() async throws {
        self.fixture = try await ServerFixture()
        for (user, platform, handle) in [("alice", "apns", "a1"), ("bob", "apns", "b1"), ("bob", "bank:apns", "b2")] {
            let owner = try await self.fixture.storage.user(user)
            try await self.fixture.storage.addDevice(of: owner, platform: platform, handle: handle)
        }
    }

    /// Advances the clock by a minute, posts a notification to a user of the default app, and
    /// makes its pushes fail. Returns the notification's id.
    private func fail(_ user: String, reason: String = "BadDeviceToken") async throws -> Int {
        self.fixture.clock.advance(by: 60)
        let path = try await self.fixture.post(#"{"Payload":"canary","To":["username:\#(user)"]}"#)
        for delivery in try await self.fixture.storage.lease() {
            try await self.fixture.storage.settle(delivery, as: .failed(reason: reason))
        }
        return try #require(Int(path.split(separator: "/").last ?? ""))
    }

    private func list(_ query: String = "") async throws -> Response {
        try await self.fixture.send(.get, Paths.deliveries + query, user: "ada")
    }

    private func notifications(_ response: Response) throws -> [Int] {
        guard case .array(let entries) = try response.json["Deliveries"] else { return [] }
        return entries.compactMap { $0["Notification"]?.integer }
    }

    @Test func anAdministratorSeesTheFailedPushesOfAllNotifications() async throws {
        let first = try await self.fail("alice")
        let second = try await self.fail("bob", reason: "Unregistered")
        let answer = try await self.list("?state=failed")
        #expect(try self.notifications(answer) == [second, first])
        guard case .array(let entries) = try answer.json["Deliveries"], let push = entries.first else {
            Issue.record("\(answer.text)")
            return
        }
        #expect(push["User"]?.text == "bob" && push["Platform"]?.text == "apns" && push["App"]?.text == "default")
        #expect(push["State"]?.text == "failed" && push["Reason"]?.text == "Unregistered")
        #expect(push["UpdatedAt"]?.text == self.fixture.clock.now.rfc3339)
        #expect(!answer.text.contains("canary"))
        #expect(try answer.json["More"] == .bool(false))
    }

    @Test func aFailedLookIsNotListed() async throws {
        let id = try await self.fail("alice")
        await self.fixture.storage.store.close()
        var options = StoreOptions.withEvents
        options.looks = ["apns": .seconds(10)]
        let fixture = try await ServerFixture(storage: self.fixture.storage.reopened(options: options))
        fixture.clock.advance(by: 60)
        let (storage, alice) = (fixture.storage, try await fixture.storage.user("alice"))
        _ = try await storage.store.enqueueLooks(
            [LookOrder(user: alice.id, app: .usual, isUrgent: true)],
            makeID: { NotificationID(rawValue: 77) },
            now: storage.now
        )
        let request = LeaseRequest(10, from: Lane(Platform("apns")).ofLooks, .direct)
        let looks = try await storage.store.lease(request, now: storage.now)
        #expect(looks.count == 1)
        for look in looks { try await storage.settle(look, as: .failed(reason: "BadDeviceToken")) }
        #expect(try self.notifications(await fixture.send(.get, Paths.deliveries, user: "ada")) == [id])
    }

    @Test(arguments: [
        ("?since=59s", 0), ("?since=1m", 1), ("?since=2m", 2), ("?since=1h", 2), ("?since=7d", 2), ("", 2),
        ("?user=alice", 1), ("?user=ALICE", 1), ("?user=paul", 0), ("?app=default", 2),
        ("?user=bob&since=2m", 1), ("?user=alice&since=1m", 0),
    ])
    func aFilterLimitsTheList(query: String, count: Int) async throws {
        _ = try await self.fail("alice")
        _ = try await self.fail("bob")
        self.fixture.clock.advance(by: 60)
        #expect(try self.notifications(await self.list(query)).count == count)
    }

    @Test(arguments: [("?user=nobody", "there is no user nobody"), ("?app=bank", "there is no app bank")])
    func anUnknownUserOrAppIsReported(query: String, text: String) async throws {
        _ = try await self.fail("alice")
        try await self.list(query).expectProblem(.notFound, text)
    }

    @Test func aPeriodMayBeginAtATime() async throws {
        _ = try await self.fail("alice")
        let second = try await self.fail("alice")
        let time = self.fixture.clock.now.rfc3339
        #expect(try self.notifications(await self.list("?since=\(time)")) == [second])
    }

    /// Each request examines only a few pushes, so some pages of the list are empty.
    @Test(arguments: [("", 1), ("", 2), ("?user=alice", 1), ("?user=alice", 3)])
    func pagesTogetherFormTheWholeList(query: String, limit: Int) async throws {
        for user in ["alice", "bob", "bob", "bob", "alice", "bob", "alice"] { _ = try await self.fail(user) }
        let whole = try self.notifications(await self.list(query))
        #expect(whole.count == (query.isEmpty ? 7 : 3))
        let scope = AppScope(.forTests, cursorKey: SymmetricKey(size: .bits256))
        let handler = FailureHandler(reports: self.fixture.reports, scope: scope, maximumExamined: 2)
        var (found, cursor, hasMore) = ([Int](), "", true)
        var requests = 0
        while hasMore, requests < 20 {
            let target = "\(Paths.deliveries)?limit=\(limit)\(query.isEmpty ? "" : "&user=alice")\(cursor)"
            let page = try await self.answer(of: handler, target)
            #expect(try self.notifications(page).count <= limit)
            found += try self.notifications(page)
            hasMore = try page.json["More"] == .bool(true)
            cursor = try page.json["Cursor"]?.text.map { "&cursor=\($0)" } ?? ""
            requests += 1
        }
        #expect(found == whole)
    }

    private func answer(of handler: FailureHandler, _ target: String) async throws -> Response {
        let head = try #require(RequestHead("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n"))
        let context = RequestContext(
            request: Request(head: head, body: RequestBody([]), peer: .unknown, loopIndex: 0),
            id: RequestID(),
            caller: Caller(try await self.fixture.storage.user("ada")),
            parameter: 0..<0,
            reader: self.fixture.storage.reader,
            now: self.fixture.clock.now,
            isStrict: false
        )
        return try await #require(handler.routes.first).begin(context).response
    }

    @Test(arguments: [
        ("?state=queued", "state must be failed"), ("?since=", "since"), ("?since=h", "since"), ("?since=-1h", "since"),
        ("?since=1w", "since"), ("?since=3600", "since"), ("?since=36501d", "since"), ("?since=yesterday", "since"),
        ("?since=4294967295d", "since"),
        ("?since=4294967296s", "since"), ("?user=a%20b", "user"), ("?app=A", "app"), ("?limit=0", "limit"),
    ])
    func anInvalidParameterIsRefused(query: String, word: String) async throws {
        try await self.list(query).expectProblem(.invalidParameter, word)
    }

    @Test(arguments: ["x", "1", "1.2", "1.2.x", "1.0.3", "1.2.-3", "9007199254740992.1.1", "1.2.3.4", ""])
    func anInvalidCursorIsRefused(cursor: String) async throws {
        try await self.list("?cursor=\(cursor)").expectProblem(.invalidCursor)
    }

    @Test func theSenderSeesWhoHasFetchedAndRead() async throws {
        let path = try await self.fixture.post(#"{"Payload":1,"To":["username:alice","username:bob"]}"#)
        #expect(try await self.fixture.send(.get, path, user: "alice").status == .ok)
        #expect(try await self.fixture.send(.patch, path, user: "alice", body: #"{"Read":true}"#).status == .ok)
        try await self.fixture.storage.store.writeReceipts()
        let answer = try await self.fixture.send(.get, "\(path)/recipients", user: "paul")
        guard case .array(let entries) = try answer.json["Recipients"], entries.count == 2 else {
            Issue.record("\(answer.text)")
            return
        }
        let now = self.fixture.clock.now.rfc3339
        let alice = try #require(entries.first { $0["User"]?.text == "alice" })
        #expect(alice["FetchedAt"]?.text == now && alice["ReadAt"]?.text == now && alice["DismissedAt"] == .null)
        let bob = try #require(entries.first { $0["User"]?.text == "bob" })
        #expect(bob["FetchedAt"] == .null && bob["ReadAt"] == .null)
        let page = try await self.fixture.send(.get, "\(path)/recipients?limit=1", user: "paul")
        #expect(try page.json["More"] == .bool(true))
        let cursor = try #require(try page.json["Cursor"]?.text)
        let rest = try await self.fixture.send(.get, "\(path)/recipients?limit=1&cursor=\(cursor)", user: "paul")
        #expect(try rest.json["More"] == .bool(false))
        #expect(try rest.json["Recipients"] != page.json["Recipients"])
        try await self.fixture.send(.get, "\(path)/recipients?cursor=0", user: "paul").expectProblem(.invalidCursor)
    }
}
