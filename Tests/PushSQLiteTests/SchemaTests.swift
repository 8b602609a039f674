import Cryptography
import Foundation
import Migrations
import PushCore
import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(5))) struct SchemaTests {
    private let connection: Connection

    init() throws {
        self.connection = try Connection()
        try self.prepare(Self.first)
    }

    private static let first = Migration(
        name: "M1",
        sql: """
            create table parent (id integer primary key) strict;
            create table child (parent integer not null references parent (id) on delete cascade) strict;
            insert into parent (id) values (1);
            insert into child (parent) values (1);
            """
    )

    private func prepare(_ migrations: Migration...) throws {
        try self.connection.exclusively { try Schema.prepare($0, migrations) }
    }

    private func value(_ sql: String) throws -> Int? {
        try self.connection.read { try Int.fetchOne($0, sql: sql) }
    }

    @Test func aMigrationRunsOnce() throws {
        try self.prepare(Self.first)
        #expect(try self.value("select count(*) from parent") == 1)
    }

    @Test func changedMigrationIsRefused() throws {
        let other = Migration(name: "M1", sql: Self.first.sql + "create index child_by_parent on child (parent);")
        let error = #expect(throws: StoreError.self) { try self.prepare(other) }
        guard case .changedMigration("M1") = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect("\(try #require(error))".contains("use the version that wrote it"))
        #expect(try self.value("select count(*) from sqlite_schema where name = 'child_by_parent'") == 0)
    }

    @Test(arguments: [
        first.sql.replacing(";\n", with: ";  -- It's a comment.\n"),
        "-- A table.\n\n\(first.sql)\n-- The end.",
    ])
    func commentsOfAMigrationMayChange(sql: String) throws {
        #expect(sql != Self.first.sql)
        try self.prepare(Migration(name: "M1", sql: sql))
    }

    @Test(arguments: [
        ("select 'a -- b' -- c", "select 'a -- b'\n"),
        ("select 'it''s -- b'-- c", "select 'it''s -- b'\n"),
        ("select \"a -- b\" --- c", "select \"a -- b\"\n"),
        ("select ' \n\n  a'\n", "select ' \n\n  a'\n"),
        ("-- It's\nselect 1 - -1\n  -- \"a\n\n", "select 1 - -1\n"),
        ("select /* a -- b */", "select /* a\n"),
        ("--", ""), ("", ""), ("'--", "'--\n"),
    ])
    func onlyCommentsOutsideOfQuotesAreLeftOut(sql: String, expected: String) {
        #expect(sql.withoutComments == expected)
    }

    /// The hashes of the released migrations must not change, even if their comments do. This is
    /// the digest of the hashes that they had at first.
    @Test func migrationsOfEarlierDatabasesKeepTheirHashes() {
        let hashes = (Migration.all.prefix(18) + Migration.allPostgreSQL.prefix(12)).map(\.hash)
        let digest = Data(SHA256.hash(data: hashes.reduce(Data(), +)))
        #expect(digest.base64EncodedString() == "JsDcBnJfxqA4Jal5Xx3Wc5o1cfbf9JNaHjetrQ1OMAo=")
    }

    @Test func databaseWithoutMigrationHashesIsRefused() throws {
        try self.connection.write { try $0.execute(sql: "alter table migration drop column hash") }
        #expect(throws: StoreError.self) { try self.prepare(Self.first) }
    }

    @Test func unknownMigrationIsRefused() throws {
        let error = #expect(throws: StoreError.self) { try self.prepare() }
        #expect("\(try #require(error))".hasSuffix(" M1; use that version"))
    }

    /// A version that was never released may have contained a migration that this version does not
    /// know.
    @Test func unknownMigrationBeforeAKnownOneIsRefused() throws {
        let later = Migration(name: "M2", sql: "create table other (id integer primary key) strict")
        let error = #expect(throws: StoreError.self) { try self.prepare(later) }
        #expect("\(try #require(error))".contains("M1"))
        #expect(try self.value("select count(*) from sqlite_schema where name = 'other'") == 0)
    }

    @Test func recreatedTableKeepsItsChildRows() throws {
        let second = Migration(
            name: "M2",
            sql: """
                create table new_parent (id integer primary key, note text) strict;
                insert into new_parent (id) select id from parent;
                drop table parent;
                alter table new_parent rename to parent;
                """
        )
        try self.prepare(Self.first, second)
        #expect(try self.value("select count(*) from child join parent on parent.id = child.parent") == 1)
        #expect(try self.value("select foreign_keys from pragma_foreign_keys") == 1)
    }

    @Test func aMigrationThatLeavesARowWithoutItsParentIsUndone() throws {
        let second = Migration(name: "M2", sql: "create table note (id integer) strict; delete from parent;")
        let error = #expect(throws: StoreError.self) { try self.prepare(Self.first, second) }
        let text = "\(try #require(error))"
        #expect(text.contains("the migration M2 leaves a row of child that belongs to none of parent"))
        #expect(try self.value("select count(*) from parent") == 1)
        #expect(try self.value("select count(*) from sqlite_schema where name = 'note'") == 0)
        #expect(try self.value("select foreign_keys from pragma_foreign_keys") == 1)
    }

    @Test func renamedColumnKeepsItsValues() throws {
        let connection = try Connection()
        try connection.exclusively { db in
            try Schema.prepare(db, Array(Migration.all.prefix(1)))
            try db.execute(
                sql: """
                    insert into user (id, name, name_key, role, password, created_at)
                    values (1, x'', zeroblob(16), 'device', '', 0);
                    insert into token (hash, prefix, user_id, is_session, scopes, created_at, expires_at, seal)
                    values (zeroblob(32), 'spt_12345678', 1, 0, 'fetch', 0, 1, 71)
                    """
            )
            try Schema.prepare(db)
            #expect(try Int.fetchOne(db, sql: "select mac from token") == 71)
        }
    }

    /// The migration copies the table of users, so the copy must have all rows and triggers.
    @Test func theRoleOfViewersLeavesUsersTheirRowsAndTriggers() throws {
        try Connection().exclusively { db in
            try Schema.prepare(db, Array(Migration.all.prefix { $0.name != "M0018_viewer" }))
            try db.execute(
                sql: """
                    insert into user (id, name, name_key, role, password, password_number, created_at, disabled_at, tags,
                        apps, issued_to, issued_at, issued_role, issued_apps, issued_scopes)
                    values (7, x'01', zeroblob(16), 'publisher', 'phc', 3, 4, 5, x'02', 'bank', zeroblob(16), 6, 'admin',
                        'bank', 'fetch');
                    insert into user (id, name, name_key, role, password, created_at)
                    values (9, x'', x'00112233445566778899aabbccddeeff', 'device', '', 0);
                    delete from user where id = 9;
                    insert into usage (user_id, notifications, bytes) values (7, 1, 1)
                    """
            )
            let columns = try String.fetchAll(db, sql: "select name from pragma_table_info('user') order by name")
            let all = "select \(columns.joined(separator: ", ")) from"
            let before = try NamedRow.fetchAll(db, sql: "\(all) user").map(\.description)
            try Schema.prepare(db)
            #expect(try NamedRow.fetchAll(db, sql: "\(all) account").map(\.description) == before)
            try db.execute(sql: "update account set role = 'viewer', issued_role = 'viewer'")
            try db.execute(
                sql: """
                    insert into account (name, name_key, role, password, created_at)
                    values (x'', x'00112233445566778899aabbccddeeff', 'device', '', 0)
                    """
            )
            #expect(try Int.fetchOne(db, sql: "select max(id) from account") == 10, "the deleted user had 9")
            try db.execute(sql: "delete from account where id = 7")
            #expect(try Int.fetchOne(db, sql: "select count(*) from usage") == 0)
            #expect(throws: DatabaseError.self) { try db.execute(sql: "update account set role = 'helpdesk'") }
        }
    }

    /// The command `backup` asks a database of an earlier version for its users, too.
    @Test(arguments: ["M0001_initial", "M0024_administrator", "M0026_triggers"], [true, false])
    func theDatabaseOfEachVersionTellsWhetherItHasUsers(newest: String, hasUsers: Bool) throws {
        let folder = try TemporaryFolder()
        let connection = try Connection(path: folder.file("a.db"))
        try connection.exclusively { db in
            try Schema.prepare(db, Migration.all.filter { $0.name <= newest })
            let table = newest < "M0025" ? "user" : "account"
            guard hasUsers else { return }
            try db.execute(
                sql: """
                    insert into \(table) (name, name_key, role, password, created_at)
                    values (x'', zeroblob(16), 'device', '', 0)
                    """
            )
        }
        try connection.close()
        let database = SQLiteDatabase(path: folder.file("a.db"))
        #expect(try database.hasUsers() == hasUsers)
        if newest < "M0026" {
            let error = #expect(throws: StoreError.self) { try database.countSealed(with: 1) }
            #expect("\(try #require(error))".contains("of an earlier version"))
        } else {
            #expect(try database.countSealed(with: 1) == 0)
        }
    }

    /// A foreign key and a trigger name the renamed tables; the numbers of users are not
    /// reused, and the entries of the audit keep their links.
    @Test func theMigrationOfTheWordsKeepsRowsTriggersAndNumbers() throws {
        try Connection().exclusively { db in
            try Schema.prepare(db, Migration.all.filter { $0.name < "M0025" })
            try db.execute(
                sql: """
                    insert into user (id, name, name_key, role, password, created_at)
                    values (7, x'01', zeroblob(16), 'device', '', 0), (9, x'', randomblob(16), 'device', '', 0);
                    delete from user where id = 9;
                    insert into device (number, id, user_id, created_at, registered_at) values (3, 'r', 7, 0, 0);
                    insert into notification
                        (id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at, expires_at)
                    values (1, 7, 1, 0, 'high', 0, 0, 1);
                    insert into recipient (notification_id, user_id, change, changed_at, mac) values (1, 7, 1, 0, 0);
                    insert into delivery (notification_id, device, user_id, lane, is_bulk, state, due_at)
                    values (1, 3, 7, 'hook', 0, 'queued', 0);
                    insert into audit (number, at, entry, chain) values (1, 0, x'02', zeroblob(32));
                    """
            )
            try Schema.prepare(db)
            #expect(try Int.fetchOne(db, sql: "select length(link) from audit") == 32)
            #expect(throws: DatabaseError.self) { try db.execute(sql: "update audit set link = randomblob(32)") }
            try db.execute(sql: "delete from account where id = 7")
            #expect(try Int.fetchOne(db, sql: "select count(*) from device") == 0)
            #expect(try String.fetchOne(db, sql: "select state from push") == "cancelled")
            try db.execute(
                sql: """
                    insert into account (name, name_key, role, password, created_at)
                    values (x'', randomblob(16), 'device', '', 0)
                    """
            )
            #expect(try Int.fetchOne(db, sql: "select id from account") == 10)
        }
    }

    @Test(arguments: 1...Migration.all.count) func theDatabaseOfEachVersionIsMigrated(count: Int) async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.db")
        let connection = try Connection(path: path)
        try connection.exclusively { try Schema.prepare($0, Array(Migration.all.prefix(count))) }
        try connection.close()
        await (try SQLiteStore(path: path, keyring: Keyring(text: Keyring.generateText()))).close()
        let inspection = try SQLiteDatabase(path: path).inspect()
        #expect(inspection.missingMigrations == [] && inspection.damage == [])
    }

    @Test func storeNamesTheChangedMigration() async throws {
        let fixture = try StoreFixture()
        try await fixture.sqlite.writer.write { try $0.execute(sql: "update migration set hash = zeroblob(32)") }
        await fixture.store.close()
        let path = fixture.sqlite.path
        let error = #expect(throws: StoreError.self) { try SQLiteStore(path: path, keyring: fixture.keyring) }
        #expect("\(try #require(error))".contains("M0001_initial"))
        #expect(try SQLiteDatabase(path: path).inspect().changedMigration == "M0001_initial")
    }
}
