import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Synchronization
import Testing

@testable import PushPostgreSQL

/// The behaviour of the store if other roles of the database server have access to its tables, or
/// if somebody has changed its schema.
@Suite(.timeLimit(.minutes(5))) struct ForeignRoleTests {
    /// The name that the server's role, its schema and its database all have.
    private let name: String
    private let administrator: BlockingConnection
    private let address: DatabaseAddress

    init() throws {
        let database = try PostgreSQLCluster.shared.newDatabase()
        self.name = database.database
        self.administrator = try BlockingConnection(database)
        self.address = try DatabaseAddress("\(database)".replacing("postgres@", with: "\(database.database)@"))
        let page = try Repository.text(of: "docs/scale.md")
        let block = try #require(page.firstMatch(of: /```sql\n((?s).*?)```/)).output.1
        // The documentation's commands are run without creating the database, because it exists
        // already, under another name.
        let lines = block.split(separator: "\n").filter { !$0.hasPrefix("create database") && !$0.hasPrefix("\\") }
        #expect(lines.count == 3)
        try self.administrator.execute(lines.joined(separator: "\n").replacing("sealpost", with: self.name))
        try self.administrator.execute(
            "create role \(self.name)_other login; grant usage on schema \(self.name) to \(self.name)_other"
        )
    }

    private func operate(_ sql: String) throws {
        let script = sql.replacing("<schema>", with: self.name).replacing("<other>", with: "\(self.name)_other")
        try self.administrator.execute("set search_path = \(self.name); \(script)")
    }

    /// Checks that a server's start and `doctor` both refuse the database with this reason.
    private func expectRefusal(_ reason: String) {
        let place = PostgreSQLPlace(self.address, pool: .longTimeouts)
        let text = reason.replacing("<schema>", with: self.name).replacing("<other>", with: "\(self.name)_other")
        for look in [{ try place.migrate() }, { _ = try place.inspect() }] {
            let error = #expect(throws: StoreError.self, "\(text)") { try look() }
            #expect("\(String(describing: error))".contains(text), "\(String(describing: error))")
            // A restart cannot help, so the exit code is 78.
            #expect(error?.isConfiguration == true, "\(text)")
        }
    }

    @Test func theServerNeedsOnlyARoleWithItsOwnSchema() throws {
        let place = PostgreSQLPlace(self.address, pool: .longTimeouts)
        try place.migrate()
        #expect(try place.inspect().missingMigrations.isEmpty)
        try place.migrate()
    }

    @Test(arguments: [
        ("grant create on schema <schema> to public", "public may create in the schema <schema>"),
        ("grant create on schema <schema> to <other>", "<other> may create in the schema <schema>"),
        (
            "alter schema <schema> owner to <other>; grant usage on schema <schema> to <schema>",
            "<other> owns the schema <schema>"
        ),
        ("grant insert on account to <other>", "<other> may write to account"),
        ("grant trigger on account to public", "public may write to account"),
        ("alter table account owner to <other>", "<other> owns account"),
        ("revoke insert on account from <schema>", "the role <schema> lacks INSERT on the table account: give"),
        (
            "revoke select, delete on account, push from <schema>",
            "lacks DELETE on the table account, SELECT on the table account, DELETE on the table push"
        ),
        ("alter table migration owner to postgres", "permission denied for table migration (SQLSTATE 42501); give"),
    ])
    func rightsOfOtherRolesAreRefused(grant: String, reason: String) throws {
        try PostgreSQLPlace(self.address, pool: .longTimeouts).migrate()
        try self.operate(grant)
        self.expectRefusal(reason)
    }

    @Test(arguments: [
        ("insert on account", false, "permission denied for table account (SQLSTATE 42501); give the server's role"),
        ("select on account", true, "permission denied for table account (SQLSTATE 42501); give the server's role"),
        ("usage on schema <schema>", true, "(SQLSTATE 42P01); give the server's role the right usage on its schema"),
    ])
    func aRightThatIsMissingLaterIsNamed(right: String, isRead: Bool, reason: String) async throws {
        let place = PostgreSQLPlace(self.address, pool: .longTimeouts)
        let events = Mutex<[StoreEvent]>([])
        var options = StoreOptions.patient
        options.onEvent = { event in events.withLock { $0.append(event) } }
        let opened = try place.open(Keyring(text: Keyring.generateText()), options)
        let store = try #require(opened as? PostgreSQLStore)
        // Without the schema, a connection that is opened only now would be refused.
        _ = try await store.makeReader().hasUsers()
        try self.operate("revoke \(right) from <schema>")
        for _ in 0..<2 {
            let error = await #expect(throws: StoreError.self) {
                if isRead {
                    _ = try await store.makeReader().hasUsers()
                } else {
                    let name = try #require(Username("alice"))
                    _ = try await store.addUser(name, role: .device, password: PasswordHash(phc: "none"), now: Date())
                }
            }
            #expect("\(error as Any)".contains(reason) && error?.isConfiguration == true, "\(error as Any)")
        }
        let reasons = events.withLock { $0 }.compactMap { event in
            if case .databaseUnusable(let reason, _) = event { reason } else { nil }
        }
        #expect(reasons.count == 1 && reasons[0].contains(reason), "\(reasons)")
        await store.checkRights(after: .zero)
        #expect(store.refusal == "the database cannot be used; the log has the reason" && store.isUnusable)
        try self.operate("grant \(right) to <schema>")
        try await eventually {
            await store.checkRights(after: .zero)
            return store.refusal == nil
        }
        let ends = events.withLock { $0 }.count { if case .databaseUsable = $0 { true } else { false } }
        #expect(ends == 1)
        await store.close()
    }

    private final class MemoryMark: DatabaseMarkKeeper {
        let place = "timeline"
        private let mark = Mutex<DatabaseMark?>(nil)

        func load() -> DatabaseMark? { self.mark.withLock { $0 } }
        func keep(_ mark: DatabaseMark) { self.mark.withLock { $0 = mark } }
    }

    /// The operator must not believe that the data is lost, and restore a backup.
    @Test func aSchemaThatTheRoleMayNotUseIsNotCalledEmpty() async throws {
        let place = PostgreSQLPlace(self.address, pool: .longTimeouts)
        let keyring = try Keyring(text: Keyring.generateText())
        var options = StoreOptions.patient
        options.cluster.mark = MemoryMark()
        await (try place.open(keyring, options)).close()
        try self.operate("revoke usage on schema <schema> from <schema>")
        let error = #expect(throws: StoreError.self) { _ = try place.open(keyring, options) }
        #expect("\(error as Any)".contains("finds no schema of its search_path"), "\(error as Any)")
    }

    @Test func aSchemaOpenToOtherRolesIsRefused() throws {
        try self.operate("grant create on schema <schema> to public")
        let error = #expect(throws: StoreError.self) {
            try PostgreSQLPlace(self.address, pool: .longTimeouts).migrate()
        }
        #expect("\(String(describing: error))".contains("may create in the schema"))
        let isEmpty = "select to_regclass('migration') is null"
        #expect(try BlockingConnection(self.address).query(isEmpty)[0].boolean(0))
    }

    @Test func theErrorOfARoleThatMayNotCreateTablesHasARemedyThatWorks() throws {
        let place = PostgreSQLPlace(self.address, pool: .longTimeouts)
        try self.operate(
            """
            revoke create on schema public from public;
            alter role <schema> in database <schema> set search_path = public
            """
        )
        self.expectRefusal("the role <schema> may not create tables in the schema public of the database <schema>")
        let error = #expect(throws: StoreError.self) { try place.isMade() }
        #expect(error?.isConfiguration == true, "\(error as Any)")
        let remedy = try #require("\(error as Any)".split(separator: "`").dropFirst().first)
        try self.administrator.execute("alter schema public owner to pg_database_owner; \(remedy)")
        try place.migrate()
    }

    /// If no schema of the search path exists, the server must not use the schema of temporary
    /// tables.
    @Test func aSearchPathWithoutASchemaIsRefused() throws {
        try self.operate("alter role <schema> in database <schema> set search_path = nowhere")
        self.expectRefusal("the role <schema> finds no schema of its search_path in the database <schema>")
    }

    /// If no migration is needed, the server's role need not have the right to create tables.
    @Test func theRightToCreateTablesIsNeededOnlyForMigrations() throws {
        let place = PostgreSQLPlace(self.address, pool: .longTimeouts)
        try place.migrate()
        try self.operate("revoke create on schema <schema> from <schema>")
        try place.migrate()
        #expect(try place.inspect().missingMigrations.isEmpty)
    }

    /// On PostgreSQL 14, every role may create functions in the schema `public`. The server must
    /// not call such a function.
    @Test func functionsOfOtherSchemasAreIgnored() throws {
        try self.operate(
            """
            create function public.unnest(bytea[]) returns setof bytea language plpgsql
            as $$ begin raise exception 'hostile'; end $$
            """
        )
        let session = try BlockingConnection(self.address)
        #expect(try session.query("select count(*) from unnest($1::bytea[])", [Data([1])])[0].integer(0) == 1)
        #expect(
            try session.query("select current_setting('search_path')")[0].text(0) == "\(self.name), pg_temp"
        )
    }

    @Test(arguments: [
        (
            """
            create function undo() returns trigger language plpgsql as $$ begin return new; end $$;
            create trigger undo before update on account for each row execute function undo()
            """, "trigger undo on account"
        ),
        ("create rule keep as on delete to push do instead nothing", "not of a migration: rule keep on push"),
        ("alter table account enable row level security", "not of a migration: row security of account"),
        ("create policy few on account", "not of a migration: policy few on account"),
        ("alter table account alter column version set default 7", "not of a migration: column account.version"),
        ("alter table account add check (id <> 7)", "not of a migration: constraint account_id_check on account"),
        ("drop index notification_by_reading_once", "missing: index CREATE INDEX notification_by_reading_once"),
        ("create table heir () inherits (account)", "not of a migration: a table that inherits account"),
        (
            "create function unnest(bytea[]) returns setof bytea language sql as 'select null::bytea'",
            "not of a migration: function unnest(bytea[])"
        ),
    ])
    func aChangedSchemaIsRefused(change: String, reason: String) throws {
        try PostgreSQLPlace(self.address, pool: .longTimeouts).migrate()
        try self.operate("set role <schema>; \(change)")
        self.expectRefusal(reason)
    }

    @Test func operatorTablesAndStorageSettingsAreAllowed() throws {
        let place = PostgreSQLPlace(self.address, pool: .longTimeouts)
        try place.migrate()
        try self.operate(
            "set role <schema>; create table note (id bigint); alter table push set (fillfactor = 40)"
        )
        try place.migrate()
        _ = try place.inspect()
    }
}
