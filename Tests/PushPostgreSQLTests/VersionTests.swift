import Foundation
import Migrations
import PostgreSQL
import PushCore
import PushPostgreSQL
import PushStore
import PushTesting
import Testing

/// Servers of two versions share a database during a migration.
@Suite(.timeLimit(.minutes(5))) struct VersionTests {
    /// Adds a column and a table that older servers do not use.
    private static let expansion = Migration(
        name: "P9001_expansion",
        sql: "alter table notification add column note text; create table note (id bigint primary key);",
        oldestKnown: Migration.allPostgreSQL.map(\.name).max()
    )
    /// Removes a column that only servers before the migration `expansion` use.
    private static let contraction = Migration(
        name: "P9002_contraction",
        sql: "alter table notification drop column collapse_id;",
        oldestKnown: expansion.name
    )

    private let old: StoreFixture
    private let address: DatabaseAddress

    init() throws {
        self.old = try StoreFixture(.postgreSQL)
        self.address = try FolderDatabases.database(of: self.old.folder)
    }

    private func open(_ later: Migration...) throws -> any Store {
        let place = PostgreSQLPlace(self.address, Migration.allPostgreSQL + later, pool: .longTimeouts)
        return try place.open(self.old.keyring)
    }

    @Test func anOlderServerWorksAlongsideALaterOne() async throws {
        let alice = try await self.old.addUser("alice", role: .publisher)
        try await self.old.addDevice(of: alice, handle: "d-1")
        try await self.old.post(1, from: alice, to: "username:alice")
        let later = try self.open(Self.expansion)
        // The old server still uses statements that it prepared before the migration.
        let outcome = try await self.old.post(2, from: alice, to: "username:alice")
        guard case .stored = outcome else {
            Issue.record("\(outcome)")
            return
        }
        for store in [self.old.store, later] {
            let found = try await store.makeReader().notification(
                try #require(NotificationID(rawValue: 2)),
                for: alice.id,
                alsoAsSender: false,
                now: self.old.now
            )
            #expect(found != nil)
        }
        #expect(try await self.old.lease().count == 2)
        // An older server may also start after the migration.
        let again = try self.open()
        #expect(try await again.makeReader().user(named: alice.name) != nil)
        #expect(throws: Never.self) { try PostgreSQLPlace(self.address, pool: .longTimeouts).inspect() }
        #expect(try PostgreSQLPlace(self.address, pool: .longTimeouts).inspect().unknownMigration == nil)
    }

    @Test func commentsOfAMigrationMayChangeAndStatementsMayNot() throws {
        func open(_ comment: String) throws {
            let migrations = Migration.allPostgreSQL.map {
                Migration(name: $0.name, sql: $0.sql.replacing("-- ", with: comment), oldestKnown: $0.oldestKnown)
            }
            _ = try PostgreSQLPlace(self.address, migrations, pool: .longTimeouts).open(self.old.keyring)
        }
        #expect(throws: Never.self) { try open("-- Earlier: ") }
        let error = #expect(throws: StoreError.self) { try open("select 1; -- ") }
        guard case .changedMigration("P0001_initial") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func aBreakingMigrationIsRefusedWhileOlderServersRun() async throws {
        let error = #expect(throws: StoreError.self) { _ = try self.open(Self.expansion, Self.contraction) }
        guard case .olderServers(_, Self.contraction.name) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        await self.old.store.close()
        let later = try self.open(Self.expansion, Self.contraction)
        let tooNew = #expect(throws: StoreError.self) { _ = try self.open() }
        #expect(tooNew?.isConfiguration == true)
        await later.close()
        _ = try self.open(Self.expansion)
        #expect(
            try PostgreSQLPlace(self.address, pool: .longTimeouts).inspect().unknownMigration == Self.contraction.name
        )
    }

    /// The long read simulates, for example, `pg_dump`. If a migration waited for a lock until the
    /// read ends, all other statements on the table would wait behind the migration.
    @Test func aMigrationWaitsForALongReadAndLetsPostsThrough() async throws {
        let alice = try await self.old.addUser("alice", role: .publisher)
        let reader = try BlockingConnection(self.address)
        try reader.execute("begin; select count(*) from notification;")
        try await withThrowingTaskGroup(of: Void.self) { group in
            let (address, keyring) = (self.address, self.old.keyring)
            group.addTask {
                let place = PostgreSQLPlace(address, Migration.allPostgreSQL + [Self.expansion], pool: .longTimeouts)
                // Opening a store blocks its thread, so it must not run on a thread of Swift's
                // tasks.
                let store = try await withCheckedThrowingContinuation { continuation in
                    DispatchQueue.global().async { continuation.resume(with: Result { try place.open(keyring) }) }
                }
                await store.close()
            }
            let watch = try BlockingConnection(self.address)
            try await eventually {
                try watch.query("select 1 from pg_locks where mode = 'AccessExclusiveLock' and not granted").count > 0
            }
            // The posts wait behind the migration, but no longer than a statement of the migration
            // may wait for a lock.
            for number in Int64(1)...3 {
                let outcome = try await self.old.post(number, from: alice, to: "username:alice")
                guard case .stored = outcome else {
                    Issue.record("\(outcome)")
                    break
                }
            }
            try reader.execute("commit")
            try await group.waitForAll()
        }
        let names = try reader.query("select name from migration").map { try $0.text(0) }
        #expect(names.contains(Self.expansion.name))
    }
}
