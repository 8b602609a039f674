import PostgreSQL
import PushTesting
import Testing

@testable import PushPostgreSQL

/// Reading a page of failed pushes must cost the same, however many other pushes are stored.
@Suite(.timeLimit(.minutes(5))) struct FailedPushPlanTests {
    @Test func aPageReadsOnlyItsFailedPushes() async throws {
        let fixture = try StoreFixture(.postgreSQL)
        let connection = try fixture.connect()
        // The store's own connections have these settings.
        try connection.execute(
            """
            set plan_cache_mode = force_generic_plan;
            set enable_seqscan = off;
            set jit = off;
            insert into push_end (notification_id, device, user_id, lane, is_bulk, state, attempts, settled_at)
                select n, 1, 1, 'apns', false, case when n % 100 = 0 then 'failed' else 'accepted' end, 1, n
                from generate_series(1, 20000) as n;
            """
        )
        try connection.execute("vacuum analyze push_end")
        try connection.execute(
            "prepare page (bigint, bigint, bigint, bigint, bigint) as \(PostgreSQLStore.failedPushes)"
        )
        let plan = try connection.query("explain (costs off) execute page (0, 15000, 1, 1, 10)").map { try $0.text(0) }
        #expect(plan.contains { $0.contains("push_end_by_failure") }, "\(plan)")
        #expect(!plan.contains { $0.contains("Seq Scan on push_end") }, "\(plan)")
        let before = try connection.entriesRead(in: "push_end_by_failure")
        let found = try connection.query("execute page (0, 15000, 1, 1, 10)").map { try $0.integer(9) }
        #expect(found == (0..<10).map { 14_900 - Int64($0) * 100 })
        #expect(try connection.entriesRead(in: "push_end_by_failure") - before <= 11)
    }
}
