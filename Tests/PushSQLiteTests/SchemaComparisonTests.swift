import Foundation
import Migrations
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// Changes that somebody has made to the schema of a file.
@Suite(.timeLimit(.minutes(5))) struct SchemaComparisonTests {
    private let fixture: StoreFixture
    private let backup: String

    init() async throws {
        self.fixture = try StoreFixture(.sqlite)
        self.backup = self.fixture.folder.file("backup.db")
        try SQLiteDatabase(path: self.fixture.sqlite.path).backUp(to: self.backup, keyring: self.fixture.keyring)
        await self.fixture.store.close()
    }

    private func change(_ sql: String) throws {
        let connection = try Connection(path: self.backup)
        try connection.exclusively { try $0.execute(sql: sql) }
        try connection.close()
    }

    private func expectRefusal(_ reason: String, _ body: () throws -> Void) throws {
        let error = #expect(throws: StoreError.self) { try body() }
        let text = "\(try #require(error))"
        #expect(text.contains(reason), "\(text)")
    }

    @Test(arguments: [
        (
            """
            create trigger keep before update of payload on notification when new.payload is null
            begin update notification set alert = old.payload where id = old.id; end
            """, "not of a migration: trigger keep on notification"
        ),
        (
            """
            create trigger undo after update of role on account
            begin update account set role = old.role where id = old.id; end
            """, "not of a migration: trigger undo on account"
        ),
        (
            """
            create trigger again after update of disabled_at on account
            begin update account set disabled_at = null where id = old.id; end
            """, "not of a migration: trigger again on account"
        ),
        ("create table stash (payload blob)", "not of a migration: table stash"),
        ("create view seen as select 1", "not of a migration: view seen"),
        ("create index few on account (role)", "not of a migration: index few on account"),
        ("drop index token_by_expiry", "missing: index token_by_expiry on token"),
        ("drop trigger audit_is_not_deleted", "missing: trigger audit_is_not_deleted on audit"),
        ("alter table account add column note text", "changed: table account"),
        ("drop table migration", "the file is not a database of sealpost"),
    ])
    func fileWithAChangedSchemaIsRefused(change: String, reason: String) throws {
        try self.change(change)
        let (path, keyring) = (self.fixture.sqlite.path, self.fixture.keyring)
        let before = try Data(contentsOf: URL(filePath: path))
        let changed = SQLiteDatabase(path: self.backup)
        try self.expectRefusal(reason) { _ = try changed.inspect() }
        try self.expectRefusal(reason) {
            try SQLiteDatabase(path: path).restore(self.backup, keyring: keyring, isReplacing: true, withoutHash: true)
        }
        #expect(try Data(contentsOf: URL(filePath: path)) == before)
        try self.expectRefusal(reason) { _ = try SQLiteStore(path: self.backup, keyring: keyring) }
        try self.expectRefusal(reason) { try changed.migrate() }
    }

    @Test func allDifferencesAreNamedUpToFive() throws {
        try self.change(
            "create view b as select 1; drop index token_by_user; "
                + (1...9).map { "create table a\($0) (n); " }.joined()
        )
        let differences = (1...5).map { "not of a migration: table a\($0)" }.joined(separator: "; ")
        let error = #expect(throws: StoreError.self) { try SQLiteDatabase(path: self.backup).inspect() }
        #expect("\(try #require(error))".hasSuffix(differences))
    }

    /// Only a database with this digest opens without running all migrations again in memory.
    @Test func theDigestIsThatOfTheNewestSchema() throws {
        let digest = try Connection().exclusively { db in
            try Schema.prepare(db)
            return SchemaComparison.digest(try SchemaComparison.objects(db))
        }
        #expect(digest == SchemaComparison.newest, "the migrations have changed: set SchemaComparison.newest to this")
    }

    @Test func statisticsDoNotCountAsAChange() throws {
        try self.change("analyze")
        _ = try SQLiteDatabase(path: self.backup).inspect()
    }

    @Test(arguments: 0..<Migration.all.count) func aDatabaseOfAnEarlierSchemaIsUpgraded(count: Int) throws {
        let (old, copy) = (self.fixture.folder.file("old.db"), self.fixture.folder.file("copy.db"))
        let connection = try Connection(path: old)
        try connection.exclusively { try Schema.prepare($0, Array(Migration.all.prefix(count))) }
        try connection.close()
        try SQLiteDatabase(path: old).backUp(to: copy, keyring: self.fixture.keyring)
        for path in [old, copy] {
            let database = SQLiteDatabase(path: path)
            #expect(try database.inspect().missingMigrations.count == Migration.all.count - count)
            try database.migrate()
            #expect(try database.inspect().missingMigrations.isEmpty)
        }
    }

    /// The schema of a file contains the comments of the migrations that made it. A later version
    /// may have changed these comments.
    @Test func commentsDoNotCountAsAChange() throws {
        let path = self.fixture.folder.file("old.db")
        let connection = try Connection(path: path)
        let earlier = Migration.all.map {
            Migration(name: $0.name, sql: $0.sql.replacing("-- ", with: "-- Earlier: "), oldestKnown: $0.oldestKnown)
        }
        try connection.exclusively { db in
            try Schema.prepare(db, earlier)
            let table = try String.fetchOne(db, sql: "select sql from sqlite_schema where name = 'device'")
            #expect(table?.contains("-- Earlier: ") == true)
        }
        try connection.close()
        let inspection = try SQLiteDatabase(path: path).inspect()
        #expect(inspection.missingMigrations.isEmpty && inspection.changedMigration == nil)
    }

    @Test func orderOfMigrationsDoesNotCountAsAChange() throws {
        let path = self.fixture.folder.file("old.db")
        let connection = try Connection(path: path)
        try connection.exclusively { db in
            try Schema.prepare(db, Migration.all.filter { $0.name != "M0008_alert" })
        }
        try connection.close()
        try SQLiteDatabase(path: path).migrate()
        #expect(try SQLiteDatabase(path: path).inspect().missingMigrations.isEmpty)
    }

    @Test(arguments: [true, false])
    func noConnectionTrustsTheSchema(isReadOnly: Bool) throws {
        let configured = try SQLiteStore.connect(self.backup, isReadOnly: isReadOnly)
        for connection in [configured, try Connection.readOnly(path: self.backup)] {
            try connection.exclusively { db in
                #expect(try Int.fetchOne(db, sql: "pragma trusted_schema") == 0)
                try db.execute(sql: "pragma writable_schema = on")
                let error = #expect(throws: DatabaseError.self) {
                    try db.execute(sql: "update sqlite_schema set sql = sql")
                }
                #expect(try #require(error).message?.contains("may not be modified") == true)
            }
            try connection.close()
        }
    }
}
