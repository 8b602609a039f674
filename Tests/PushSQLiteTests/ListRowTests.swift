import Foundation
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// The rows of the lists of notifications, and the queries that find these rows.
@Suite(.timeLimit(.minutes(5))) struct ListRowTests {
    private let fixture: StoreFixture
    private let alice: User

    init() async throws {
        self.fixture = try StoreFixture()
        self.alice = try await self.fixture.addUser("alice")
    }

    private func page(after start: Int64? = nil) async throws -> NotificationPage {
        try await self.fixture.reader.notifications(
            ChangeRange(after: start, limit: 500, isUnreadOnly: false),
            for: self.alice.id,
            now: self.fixture.now,
            needsPayloads: { _ in true }
        )
    }

    // MARK: Plans

    @Test func listsAreReadAlongTheirIndexes() async throws {
        let plan = try await self.fixture.sqlite.writer.write { db in
            try db.plan(of: SQLiteReader.changes)
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

    @Test func notificationIsReadByItsKey() async throws {
        let plan = try await self.fixture.sqlite.writer.write { db in
            try db.plan(of: SQLiteReader.change)
        }
        #expect(
            plan == [
                "SEARCH n USING INTEGER PRIMARY KEY (rowid=?)",
                "SEARCH r USING PRIMARY KEY (notification_id=? AND user_id=?)",
            ]
        )
    }

    // MARK: Numbers

    @Test func restoredBackupDoesNotReuseChangeNumbers() async throws {
        let now = Date()
        let newest = try await self.fixture.sqlite.writer.write { db in
            let reserved = try Int64.fetchOne(db, sql: "select reserved from change_number") ?? 0
            let lost = try ChangeNumbers(db, now: now + 10)
            for _ in 0..<1000 { _ = lost.next() }
            // Sets the reserved change number back to that of the backup, as a restoration would.
            try db.execute(sql: "update change_number set reserved = ?", arguments: [reserved])
            let found = try ChangeNumbers(db, now: now + 3600).newest
            // A clock that was set back does no harm to a database that was not restored.
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

    // MARK: Limits

    @Test func rowsWithoutAnEntryCountTowardsThePage() async throws {
        let count = Int64(PageBuilder.maximumRows + 10)
        let (alice, now) = (self.alice.id, self.fixture.now.timeIntervalSince1970 * 1000)
        let macs = self.fixture.sqlite.sealing.rows
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
            for id in 1...count {
                try db.run(
                    """
                    insert into recipient (notification_id, user_id, dismissed_at, change, changed_at, mac)
                    values (?1, ?2, ?3, ?1, ?4, ?5)
                    """,
                    id,
                    alice,
                    id < count ? 1 : Int?.none,
                    Int64(now),
                    macs.recipient(of: id, user: alice)
                )
            }
        }
        let first = try await self.page()
        #expect(first.entries.isEmpty)
        #expect(first.hasMore)
        #expect(first.end == Int64(PageBuilder.maximumRows))
        let second = try await self.page(after: first.end)
        #expect(second.entries.map(\.isGone) == Array(repeating: true, count: 9) + [false])
        #expect(!second.hasMore)
        // Rows of expired notifications also count towards the page.
        self.fixture.clock.advance(by: 1)
        let expired = try await self.page(after: 0)
        #expect(expired.entries.isEmpty)
        #expect(expired.hasMore)
        #expect(expired.end == first.end)
        #expect(try await self.page(after: expired.end).hasMore == false)
    }

    // MARK: Recall

    @Test func recallFromManyRecipientsIsOneRow() async throws {
        let count = SQLiteStore.recallPage + 1
        let macs = self.fixture.sqlite.sealing.rows
        try await self.fixture.post(1, from: self.alice, to: "username:alice")
        try await self.fixture.sqlite.writer.write { db in
            try db.execute(
                sql: """
                    with recursive n(i) as (select 1 union all select i + 1 from n where i < ?)
                    insert into account (name, name_key, role, password, created_at)
                    select x'00', randomblob(16), 'device', '', 0 from n
                    """,
                arguments: [count - 1]
            )
            for user in try Int64.fetchAll(db, sql: "select id from account where name = x'00'") {
                try db.run(
                    """
                    insert into recipient (notification_id, user_id, change, changed_at, mac) values (1, ?, 1, 0, ?)
                    """,
                    user,
                    macs.recipient(of: 1, user: user)
                )
            }
        }
        let start = try await self.page().end
        let id = try #require(NotificationID(rawValue: 1))
        #expect(try await self.fixture.store.recall(id, by: .administrator, now: self.fixture.now))
        let changed = try await self.fixture.sqlite.writer.write { db in
            try Int.fetchOne(db, sql: "select count(*) from recipient where change > ?", arguments: [start])
        }
        #expect(changed == 0)
        let entries = try await self.page(after: start).entries
        #expect(entries.map(\.id.rawValue) == [1])
        #expect(entries.map(\.isGone) == [true])
    }
}
