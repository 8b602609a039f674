import Foundation
import GRDB
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

/// Lists, as the database gives them.
@Suite(.timeLimit(.minutes(5))) struct PageTests {
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

    // MARK: Plans

    @Test func listsAreReadAlongTheirIndexes() async throws {
        let plan = try await self.fixture.sqlite.writer.write { db in
            try Row.fetchAll(db, sql: "explain query plan " + SQLiteReader.changes.sql, arguments: [1, 2]).map { row in
                try row.decode(String.self, forColumn: "detail")
            }
        }
        #expect(
            plan == [
                "MERGE (UNION ALL)", "LEFT",
                "SEARCH r USING INDEX recipient_by_user (user_id=? AND change>?)",
                "SEARCH n USING INTEGER PRIMARY KEY (rowid=?)", "RIGHT",
                "SEARCH n USING INDEX notification_by_recall (recall_change>?)",
                "SEARCH r USING PRIMARY KEY (notification_id=? AND user_id=?)",
            ]
        )
    }

    @Test func oneIsReadByItsKey() async throws {
        let plan = try await self.fixture.sqlite.writer.write { db in
            try Row.fetchAll(db, sql: "explain query plan " + SQLiteReader.change.sql, arguments: [1, 2]).map { row in
                try row.decode(String.self, forColumn: "detail")
            }
        }
        #expect(
            plan == [
                "SEARCH n USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH r USING PRIMARY KEY (notification_id=? AND user_id=?)",
            ]
        )
    }

    // MARK: Numbers

    @Test func numbersRiseAlsoOverTheNextOpening() async throws {
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

    @Test func aBackupThatIsPutBackDoesNotGiveNumbersOutAgain() async throws {
        let now = Date()
        let newest = try await self.fixture.sqlite.writer.write { db in
            let reserved = try Int64.fetchOne(db, sql: "select reserved from change_number") ?? 0
            let lost = try ChangeNumbers(db, now: now + 10)
            for _ in 0..<1000 { _ = lost.next() }
            // As it was in the backup.
            try db.execute(sql: "update change_number set reserved = ?", arguments: [reserved])
            let found = try ChangeNumbers(db, now: now + 3600).newest
            // A clock that was set back does no harm to a database that was not.
            let later = try ChangeNumbers(db, now: now - 10_000_000).newest
            try db.execute(sql: "update change_number set reserved = ?", arguments: [Int64.max])
            return [lost.newest, found, later]
        }
        #expect(newest[0] < newest[1])
        #expect(newest[1] < newest[2])
        await #expect(throws: StoreError.self) {
            _ = try await self.fixture.sqlite.writer.write { try ChangeNumbers($0, now: now).newest }
        }
    }

    // MARK: Bounds

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

    @Test func oneThatIsLongerThanAPageIsAPage() async throws {
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

    /// One that takes more is not what was asked for, and no payload is read for it.
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
                try await reader.notifications(ids, for: user, now: now, within: budget, needsPayloads: needsPayloads),
            ]
            #expect(pages.map(\.isBeyondBudget) == [isBeyond, isBeyond])
            #expect(asked == (isBeyond ? 0 : 2))
            if !isBeyond { #expect(pages.map(\.entries.count) == [5, 5]) }
        }
    }

    @Test func rowsThatShowNothingAreCountedToo() async throws {
        let count = Int64(PageBuilder.maximumRows + 10)
        let (alice, now) = (self.alice.id, self.fixture.now.timeIntervalSince1970 * 1000)
        try await self.fixture.sqlite.writer.write { db in
            try db.execute(
                sql: """
                    create temp table number as
                    with recursive n(i) as (select 1 union all select i + 1 from n where i < ?1) select i from n;
                    """,
                arguments: [count]
            )
            try db.execute(
                sql: """
                    insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at,
                        expires_at, payload)
                    select i, ?1, 1, 0, 'high', 0, ?2, ?2 + 1000, zeroblob(40) from number
                    """,
                arguments: [alice, Int64(now)]
            )
            db.add(function: self.recipientSeal)
            try db.execute(
                sql: """
                    insert into recipient (notification_id, user_id, dismissed_at, change, changed_at, mac)
                    select i, ?1, case when i < ?2 then 1 end, i, ?3, recipient_mac(i, ?1) from number
                    """,
                arguments: [alice, count, Int64(now)]
            )
        }
        let first = try await self.page()
        #expect(first.entries.isEmpty)
        #expect(first.hasMore)
        #expect(first.end == Int64(PageBuilder.maximumRows))
        let second = try await self.page(after: first.end)
        #expect(second.entries.map(\.isGone) == Array(repeating: true, count: 9) + [false])
        #expect(!second.hasMore)
        // The same with what has expired.
        self.fixture.clock.advance(by: 1)
        let expired = try await self.page(after: 0)
        #expect(expired.entries.isEmpty)
        #expect(expired.hasMore)
        #expect(expired.end == first.end)
        #expect(try await self.page(after: expired.end).hasMore == false)
    }

    /// `recipient_mac(notification, user)`, for rows that a test makes by SQL.
    private var recipientSeal: DatabaseFunction {
        let rows = self.fixture.sqlite.sealing.rows
        return DatabaseFunction("recipient_mac", argumentCount: 2, pure: true) { values in
            guard
                let notification = Int64.fromDatabaseValue(values[0]), let user = Int64.fromDatabaseValue(values[1])
            else { return nil }
            return rows.recipient(of: notification, user: user)
        }
    }

    // MARK: Recall

    /// Recipients noted one by one, or together.
    @Test(arguments: [1000, 0]) func aRecallReachesEachRecipientOverPages(recallPage: Int) async throws {
        let bob = try await self.fixture.addUser("bob")
        for number in Int64(1)...5 {
            try await self.fixture.post(number, from: self.alice, to: "username:alice", "username:bob")
        }
        let first = try await self.page(limit: 2)
        let all = try await self.page()
        for number in [Int64(2), 4, 1] { try await self.recall(number, page: recallPage) }
        try await self.fixture.post(6, from: self.alice, to: "username:alice")
        // One whose first pages were read before, one who had read all, and one who begins now.
        #expect(try await self.collect(from: first.end, limit: 2) == [3, 5, -2, -4, -1, 6])
        #expect(try await self.collect(from: all.end, limit: 2) == [-2, -4, -1, 6])
        // Who begins now is told of what had gone only behind the first page.
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

    @Test func aRecallFromManyIsOneRow() async throws {
        let count = SQLiteStore.recallPage + 1
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        try await self.fixture.sqlite.writer.write { db in
            try db.execute(
                sql: """
                    with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
                    insert into user (name, name_key, role, password, created_at)
                    select x'00', randomblob(16), 'device', '', 0 from n
                    """,
                arguments: [count - 1]
            )
            db.add(function: self.recipientSeal)
            try db.execute(
                sql: """
                    insert into recipient (notification_id, user_id, change, changed_at, mac)
                    select 1, id, 1, 0, recipient_mac(1, id) from user where name = x'00'
                    """
            )
        }
        let start = try await self.page().end
        try await self.recall(1, page: SQLiteStore.recallPage)
        let changed = try await self.fixture.sqlite.writer.write { db in
            try Int.fetchOne(db, sql: "select count(*) from recipient where change > ?", arguments: [start])
        }
        #expect(changed == 0)
        #expect(try await self.collect(from: start, limit: 10) == [-1])
    }

    // MARK: What may be read once

    @Test func whatMayBeReadOnceStaysWhileItsBroadcastGoesOn() async throws {
        var users: [User] = []
        for number in 0..<6 {
            users.append(try await self.fixture.addUser("user\(number)"))
            try await self.fixture.addDevice(of: users[number], handle: "d-\(number)", tags: ["news"])
        }
        // The second of the first one's devices is reached late.
        try await self.fixture.addDevice(of: users[0], handle: "d-again", tags: ["news"])
        try await self.fixture.post(1, from: self.alice, to: "news", isReadOnce: true, page: 3)
        let id = try self.id(1)
        for user in users.prefix(3) { #expect(try await self.take(id, user)) }
        while try await self.fixture.store.expandFanout(page: 3, now: self.fixture.now) != nil {}
        #expect(try await !self.take(id, users[0]), "not twice, however late another device is reached")
        for user in users.suffix(3) { #expect(try await self.take(id, user)) }
        #expect(try await self.isErased())
    }

    @Test func itIsErasedWithTheEndOfABroadcastWhoseRecipientsHaveAllTakenIt() async throws {
        for number in 0..<6 {
            try await self.fixture.addDevice(of: self.alice, handle: "d-\(number)", tags: ["news"])
        }
        try await self.fixture.post(1, from: self.alice, to: "news", isReadOnce: true, page: 2)
        #expect(try await self.take(try self.id(1), self.alice))
        #expect(try await !self.isErased())
        while try await self.fixture.store.expandFanout(page: 2, now: self.fixture.now) != nil {}
        #expect(try await self.isErased())
    }

    @Test func whoPutsItAwayWaitsForItNoMore() async throws {
        let bob = try await self.fixture.addUser("bob")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", "username:bob", isReadOnce: true)
        let id = try self.id(1)
        #expect(try await self.fixture.store.dismiss(id, by: bob.id, now: self.fixture.now))
        #expect(try await !self.take(id, bob))
        #expect(try await !self.isErased())
        #expect(try await self.take(id, self.alice))
        #expect(try await self.isErased())
    }

    @Test func whatIsNotToBeReadOnceIsNotTaken() async throws {
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        #expect(try await !self.take(try self.id(1), self.alice))
        #expect(try await self.page().entries.count == 1)
    }

    @Test func whatIsTakenIsNotPushedToTheOtherDevices() async throws {
        try await self.fixture.addDevice(of: self.alice, handle: "one")
        try await self.fixture.post(1, from: self.alice, to: "username:alice", isReadOnce: true)
        #expect(try await self.take(try self.id(1), self.alice))
        #expect(try await self.fixture.claim().isEmpty)
        #expect(try await self.fixture.reader.tallies()["apns"]?.cancelled == 1)
    }

    // MARK: - Private

    private func take(_ id: NotificationID, _ user: User) async throws -> Bool {
        try await self.fixture.store.take(id, by: user.id, now: self.fixture.now)
    }

    private func isErased() async throws -> Bool {
        try await self.fixture.sqlite.writer.write { db in
            try Bool.fetchOne(db, sql: "select payload is null from notification where id = 1") ?? false
        }
    }

    private func recall(_ number: Int64, page: Int) async throws {
        let id = try self.id(number)
        #expect(
            try await self.fixture.store.recall(id, by: .administrator, noting: nil, page: page, now: self.fixture.now)
        )
    }

    /// The ids of all pages, negative where they are tombstones.
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
                audience: Audience([try TagExpression("username:alice")], platforms: nil),
                isStoredByClients: true,
                isReadOnce: false,
                priority: .high,
                collapseID: nil,
                createdAt: self.fixture.now,
                expiresAt: self.fixture.now + 60
            )
        )
        #expect(outcome == .stored(pushes: 0, hasWork: false))
    }
}
