import Foundation
import PushCore
import PushStore
import PushTesting
import Testing

/// The store's lists, page by page.
@Suite(.eachStore, .timeLimit(.minutes(5))) struct ListPageTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func page(
        after start: Int64? = nil,
        limit: Int = 500,
        of user: User? = nil
    ) async throws -> NotificationPage {
        try await Self.page(in: self.fixture, after: start, limit: limit, of: user ?? self.alice)
    }

    private static func page(
        in fixture: StoreFixture,
        after start: Int64?,
        limit: Int = 500,
        of user: User
    ) async throws -> NotificationPage {
        try await fixture.reader.notifications(
            ChangeRange(after: start, limit: limit, isUnreadOnly: false),
            for: user.id,
            now: fixture.now,
            needsPayloads: { _ in true }
        )
    }

    private func id(_ number: Int64) throws -> NotificationID {
        try #require(NotificationID(rawValue: number))
    }

    // MARK: Numbers

    @Test func changeNumbersRiseAcrossReopening() async throws {
        let keyring = Keyring.generateText()
        let before = try StoreFixture(keyring: keyring)
        let user = try await before.addUser("alice")
        var ends: [Int64] = []
        for number in Int64(1)...2 {
            try await before.post(number, from: user, to: "username:alice")
            ends.append(try await Self.page(in: before, after: nil, of: user).end)
        }
        #expect(ends[0] < ends[1])
        await before.store.close()
        let next = try StoreFixture(in: before.folder, keyring: keyring)
        #expect(try await next.reader.newestChange(ofUser: user.id) > ends[1])
        try await next.post(3, from: user, to: "username:alice")
        #expect(try await Self.page(in: next, after: ends[1], of: user).entries.map(\.id.rawValue) == [3])
        await next.store.close()
    }

    /// The devices of some posts of the batch are found later than those of the others.
    @Test(
        arguments: [
            ["news", "alice"], ["alice", "news", "alice"], ["both", "alice", "news", "both", "alice"],
        ]
    )
    func aBatchKeepsItsOrder(audiences: [String]) async throws {
        let expressions = ["news": ["news"], "alice": ["username:alice"], "both": ["news", "username:alice"]]
        try await self.fixture.addDevice(of: self.alice, handle: "aa", tags: ["news"])
        // The ids are in the opposite order.
        let ids = try audiences.indices.map { try self.id(Int64(audiences.count - $0)) }
        let (store, sender) = (self.fixture.store, self.alice.id)
        let posts = try zip(ids, audiences).map { id, audience in
            NewNotification(
                id: id,
                sender: sender,
                sealedPayload: try store.vault.seal(Data("{}".utf8), in: .payload(id, sender: sender)),
                audience: store.hashed(Audience(try (expressions[audience] ?? []).map { try TagExpression($0) })),
                createdAt: self.fixture.now,
                expiresAt: self.fixture.now + 3600
            )
        }
        let outcomes = try await store.post(PostRequest(posts))
        #expect(outcomes == posts.map { _ in .stored(Reach(recipients: 1, pushes: 1), hasWork: true) })
        #expect(try await self.page().entries.map(\.id) == ids)
        #expect(try await self.fixture.lease().map(\.push.notification) == ids)
    }

    @Test func marksKeepTheOrderOfTheirRequest() async throws {
        for number in Int64(1)...4 { try await self.post(number, length: 1) }
        let (ids, user) = (try [3, 1, 4, 2].map { try self.id($0) }, self.alice)
        let marked = try await self.fixture.store.markRead(ids + ids.prefix(1), by: user, now: self.fixture.now)
        #expect(marked.read == ids)
        #expect(try await self.page().entries.map(\.id) == ids)
    }

    // MARK: Limits

    @Test func aPageOfLongPayloadsIsBoundedInBytes() async throws {
        let length = 65_536
        for number in Int64(1)...40 { try await self.post(number, length: length) }
        var (seen, start): ([Int64], Int64?) = ([], nil)
        while true {
            let page = try await self.page(after: start)
            #expect(
                page.entries.map(\.sealedPayload.count).reduce(0, +) <= NotificationPage.maximumBytes + 40
                    * Vault.overhead
            )
            seen += page.entries.map(\.id.rawValue)
            start = page.end
            if !page.hasMore { break }
            #expect(page.entries.count == 16)
        }
        #expect(seen == Array(1...40))
        let ids = try (1...40).map { try self.id($0) }
        let named = try await self.fixture.reader.notifications(ids, for: self.alice.id, now: self.fixture.now) { _ in
            true
        }
        #expect(named.entries.count == 16)
        #expect(named.hasMore)
    }

    @Test func entryLongerThanAPageIsAPageOfItsOwn() async throws {
        for number in Int64(1)...2 { try await self.post(number, length: NotificationPage.maximumBytes + 1) }
        let page = try await self.page()
        #expect(page.entries.map(\.id.rawValue) == [1])
        #expect(page.hasMore)
        #expect(try await self.page(after: page.end).entries.map(\.id.rawValue) == [2])
        let ids = try [1, 2].map { try self.id($0) }
        let named = try await self.fixture.reader.notifications(ids, for: self.alice.id, now: self.fixture.now) { _ in
            true
        }
        #expect(named.entries.map(\.id.rawValue) == [1])
        #expect(named.hasMore)
    }

    /// If a page would exceed its budget of bytes, the store returns no page, and reads no payload
    /// for it.
    @Test func aPageBeyondItsBudgetIsGivenUp() async throws {
        for number in Int64(1)...5 { try await self.post(number, length: 100) }
        let ids = try (1...5).map { try self.id($0) }
        let range = ChangeRange(after: nil, limit: 500, isUnreadOnly: false)
        let (reader, user, now) = (self.fixture.reader, self.alice.id, self.fixture.now)
        for (rows, bytes, isBeyond) in [(5, 500, false), (4, 500, true), (5, 499, true)] {
            let budget = PageBudget(rows: rows, bytes: bytes)
            var asked = 0
            let needsPayloads = { (page: NotificationPage) in
                asked += 1
                return true
            }
            let pages = [
                try await reader.notifications(
                    range,
                    for: user,
                    now: now,
                    within: budget,
                    needsPayloads: needsPayloads
                ),
                try await reader.notifications(
                    ids,
                    of: .usual,
                    for: user,
                    now: now,
                    within: budget,
                    needsPayloads: needsPayloads
                ),
            ]
            #expect(pages.map(\.isBeyondBudget) == [isBeyond, isBeyond])
            #expect(asked == (isBeyond ? 0 : 2))
            if !isBeyond { #expect(pages.map(\.entries.count) == [5, 5]) }
        }
    }

    // MARK: Recall

    /// With a page of 1000, the store records a recall in each recipient's row; with a page of 0,
    /// once for all recipients.
    @Test(arguments: [1000, 0]) func aRecallReachesEachRecipientOverPages(recallPage: Int) async throws {
        let bob = try await self.fixture.addUser("bob")
        for number in Int64(1)...5 {
            try await self.fixture.post(number, from: self.alice, to: "username:alice", "username:bob")
        }
        let first = try await self.page(limit: 2)
        let all = try await self.page()
        for number in [Int64(2), 4, 1] { try await self.recall(number, page: recallPage) }
        try await self.fixture.post(6, from: self.alice, to: "username:alice")
        // Of three readers of the list, the first has read some pages before the recall, and the
        // second has read all pages. The third begins after the recall.
        #expect(try await self.collect(from: first.end, limit: 2) == [3, 5, -2, -4, -1, 6])
        #expect(try await self.collect(from: all.end, limit: 2) == [-2, -4, -1, 6])
        // For a reader who begins after the recall, only the first page leaves out recalled
        // notifications. Later pages contain all changes that come after the first page.
        #expect(try await self.collect(from: nil, limit: 500) == [3, 5, 6])
        #expect(try await self.collect(from: nil, limit: 2) == [3, 5, -2, -4, -1, 6])
        #expect(try await self.collect(from: nil, limit: 500, of: bob) == [3, 5])
        #expect(try await self.collect(from: 0, limit: 1, of: bob) == [3, 5, -2, -4, -1])
        let ids = try (1...6).map { try self.id($0) }
        let named = try await self.fixture.reader.notifications(ids, for: self.alice.id, now: self.fixture.now) { _ in
            false
        }
        #expect(named.entries.map(\.id.rawValue) == [3, 5, 6])
    }

    // MARK: - Private

    private func recall(_ number: Int64, page: Int) async throws {
        let id = try self.id(number)
        #expect(
            try await self.fixture.store.recall(
                id,
                by: .administrator,
                recording: nil,
                page: page,
                now: self.fixture.now
            )
        )
    }

    /// Returns the ids of all pages; the id of a deleted notification is negative.
    private func collect(from start: Int64?, limit: Int, of user: User? = nil) async throws -> [Int64] {
        var (seen, start) = ([Int64](), start)
        while true {
            let page = try await self.page(after: start, limit: limit, of: user)
            seen += page.entries.map { $0.isGone ? -$0.id.rawValue : $0.id.rawValue }
            if !page.hasMore { return seen }
            start = page.end
        }
    }

    private func post(_ number: Int64, length: Int) async throws {
        let id = try self.id(number)
        let payload = Data(repeating: UInt8(ascii: "1"), count: length)
        let outcome = try await self.fixture.store.post(
            NewNotification(
                id: id,
                sender: self.alice.id,
                sealedPayload: try self.fixture.store.vault.seal(payload, in: .payload(id, sender: self.alice.id)),
                audience: self.fixture.store.hashed(Audience([try TagExpression("username:alice")], platforms: nil)),
                createdAt: self.fixture.now,
                expiresAt: self.fixture.now + 60
            )
        )
        #expect(outcome == .stored(pushes: 0, hasWork: false))
    }
}
