import PostgreSQL
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// A statement reads only the rows that it needs, however many other rows the tables have.
@Suite(.timeLimit(.minutes(5))) struct GrownTableTests {
    /// The rows that PostgreSQL's statistics describe.
    enum Counted: CaseIterable {
        case none, all
    }

    private static let tables = [
        "notification", "recipient", "scheduled", "event", "push", "push_end", "collapse", "stream",
    ]

    private static let statements: [(name: String, sql: String, values: String)] = [
        ("what is scheduled and due", PostgreSQLStore.dueRows, "5000, 10"),
        ("events of a sender", PostgreSQLStore.eventsOfSender, "0, 10, 2"),
        ("the pace of a device", DevicePace.selectPaces, "'{1}', '{10}', '{1}'"),
        ("a page of a fan-out", PushInsertion.insertion, "1, true, '{90001}', '{1}', '{apns}', '{1}', '{null}'"),
        ("pushes of a notification", PostgreSQLStore.deliveries, "1, 0, 10"),
        ("counts of pushes", PostgreSQLStore.counts, "1, 0, 10"),
        ("pushes since the last event", PostgreSQLStore.sendAgain, "'{30001}', 1, 1, 1"),
        ("pushes to a recipient", WriteTransaction.pushesToRecipients, "'{1}', '{1}'"),
        ("paced pushes to a recipient", WriteTransaction.pacedPushes, "'{1}', '{1}', '{1}', 'paced'"),
        ("pushes that wait for a stream", WriteTransaction.waitingPushes, "'{10}', -20000"),
        ("queued pushes of a user", WriteTransaction.queuedPushes, "'{10}'"),
        ("new due times", WriteTransaction.makePushesDue, "'{1}', '{10}', '{5}'"),
        ("streams of fenced servers", PostgreSQLStore.rowsOfFenced, "10"),
        ("the last streams of a server", PostgreSQLStore.rowsAfter, "9990, 1, 10"),
    ]

    private let connection: BlockingConnection

    init() async throws {
        let fixture = try StoreFixture(.postgreSQL)
        self.connection = try fixture.connect()
        await fixture.store.close()
        try await self.connection.awaitEnd()
        // The store's own connections have these settings.
        try self.connection.execute(
            "set plan_cache_mode = force_generic_plan; set enable_seqscan = off; set jit = off"
        )
    }

    private func fill(_ counted: Counted) throws {
        for table in Self.tables { try self.connection.execute("alter table \(table) set (autovacuum_enabled = off)") }
        try self.fill()
        if counted == .none { for table in Self.tables { try self.connection.execute("delete from \(table)") } }
        for table in Self.tables { try self.connection.execute("analyze \(table)") }
        if counted == .none { try self.fill() }
    }

    /// Fills the tables. Most rows belong to one broadcast, one publisher, or one device.
    private func fill() throws {
        try self.connection.execute(
            """
            create temporary view n as select n::int8 from generate_series(1, 10000) as n;
            insert into notification (id, sender_id, is_stored_by_clients, is_read_once, priority, seed, created_at,
                    expires_at, payload)
                select n, 1, true, false, 'high', n, 0, 9000, ''::bytea from n;
            insert into recipient (notification_id, user_id, change, changed_at, mac) select 1, n, 1, 0, 0 from n;
            insert into scheduled (notification_id, due_at, sequence, expressions)
                select n * 1000, n * 1000, n, ''::bytea from n where n <= 10;
            insert into event (number, at, kind, sender_id)
                select n, n, 1, case when n % 2000 = 0 then 2 else 1 end from n;
            insert into device (number, id, user_id, platform, lane, handle, handle_key, tags, created_at, registered_at)
                values (1, '1', 1, 'apns', 'apns', ''::bytea, '0123456789abcdef'::bytea, ''::bytea, 0, 0)
                on conflict do nothing;
            insert into device (number, id, user_id, created_at, registered_at) select n, n::text, n, 0, 0 from n
                on conflict do nothing;
            insert into push (notification_id, device, user_id, lane, is_bulk, due_at) select 1, n, n, 'apns', true, n from n;
            insert into push (notification_id, device, user_id, lane, is_bulk)
                select n, 1, 1, 'apns', false from n where n > 1;
            insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at, provider_id)
                select 1, 30000 + n, 1, 'apns', true, 'accepted', 1, n, case when n > 9990 then 'stream' end from n;
            insert into collapse (device, collapse_id, notification_id, sequence) select 40000, n::text, n, n from n;
            insert into stream (device, node, since) select n, 1, 0 from n;
            drop view n
            """
        )
    }

    /// Returns the number of rows and index entries that PostgreSQL has read in all tables.
    private func read() throws -> Int64 {
        // PostgreSQL reports a session's reads at most once a second.
        _ = try self.connection.query("select pg_stat_force_next_flush()")
        return try self.connection.query(
            """
            select (select sum(idx_tup_read) from pg_stat_user_indexes)::int8
                + (select sum(seq_tup_read) from pg_stat_user_tables)::int8
            """
        )[0].integer(0)
    }

    /// Returns the number of rows and index entries that the statement reads.
    private func read(by sql: String, _ values: String) throws -> Int64 {
        try self.connection.execute("prepare this as \(sql)")
        let before = try self.read()
        try self.connection.execute("begin; execute this (\(values)); rollback; deallocate this")
        return try self.read() - before
    }

    @Test(arguments: Counted.allCases) func aStatementReadsOnlyItsRows(counted: Counted) throws {
        try self.fill(counted)
        for statement in Self.statements {
            #expect(try self.read(by: statement.sql, statement.values) <= 100, "\(statement.name)")
        }
    }

    /// A server's sessions keep a plan that they have made before there were claims.
    @Test func theClaimOfADeviceIsFoundByItsOwnIndex() throws {
        try self.fill(.all)
        try self.connection.execute("analyze device; prepare this as \(PostgreSQLStore.allDevices)")
        let plan = try self.connection.query("explain (costs off) execute this (0, 10)").map { try $0.text(0) }
        #expect(plan.contains { $0.hasSuffix("using device_by_claim on device c") }, "\(plan)")
    }

    @Test(arguments: [
        // A stream has ended.
        (WriteTransaction.parkPushes, "'{10}', '{apns}', 'away', 10"),
        (WriteTransaction.parkPushes, "'{1}', '{apns}', 'away', 10"),
        // A device with 10,000 pushes is retired.
        (WriteTransaction.lockDevices, "'{1}', 10"),
    ])
    func theEndOfADeviceReadsAPageOfItsPushes(sql: String, values: String) throws {
        try self.fill(.all)
        try self.connection.execute("update push set due_at = 1 where device = 1")
        #expect(try self.read(by: sql, values) <= 100)
    }
}
