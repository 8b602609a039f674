import PushStore
import PushTesting
import SQLite
import Testing

@testable import PushSQLite

/// No query may scan a whole table, so that its cost does not grow with the database.
@Suite(.timeLimit(.minutes(5))) struct QueryPlanTests {
    private static let queries: [(name: String, sql: String, indexes: [String])] = [
        ("receipt", SQLiteStore.pacedDevices, ["device_by_user", "PRIMARY KEY (notification_id=? AND device=?)"]),
        ("what is due", DueDelivery.due, ["INDEX delivery_by_due (lane=? AND is_bulk=? AND due_at<?)"]),
        (
            "the oldest push", SQLiteReader.oldestWaiting,
            ["INDEX delivery_by_due (lane=? AND is_bulk=? AND due_at>?)", "SEARCH n USING INTEGER PRIMARY KEY"]
        ),
        ("claim", DueDelivery.row, ["PRIMARY KEY (notification_id=? AND device=?)"]),
        (
            "probe", SQLiteReader.probeSearch,
            [
                "INDEX delivery_by_due (lane=? AND is_bulk=? AND due_at<?)", "SEARCH p USING INTEGER PRIMARY KEY",
                "SEARCH v USING INTEGER PRIMARY KEY",
            ]
        ),
        ("newer push", DueDelivery.newer, ["delivery_by_device (device=?)"]),
        ("push under way", DueDelivery.underWay, ["delivery_by_device (device=?)"]),
        ("reclaim", SQLiteStore.reclaim, ["delivery_by_lease"]),
        ("what waits for a stream", SQLiteStore.isWaiting, ["delivery_by_device (device=?)"]),
        (
            "waking what waits", SQLiteStore.waiting,
            ["delivery_by_device (device=?)", "SEARCH notification USING INTEGER PRIMARY KEY"]
        ),
        (
            "what a user's devices wait for", SQLiteStore.countOfUser,
            ["delivery_by_device (device=?)", "device_by_user (user_id=?)"]
        ),
        (
            "what is parked for streams", SQLiteStore.parked,
            [
                "PRIMARY KEY (notification_id=? AND device=?)", "recipient_by_user (user_id=? AND change>?)",
                "SEARCH notification USING INTEGER PRIMARY KEY", "SEARCH parking USING INTEGER PRIMARY KEY",
            ]
        ),
        (
            "what is parked for a retired device", SQLiteStore.unpark,
            ["PRIMARY KEY (notification_id=? AND device=?)", "recipient_by_user (user_id=? AND change>?)"]
        ),
        (
            "reconnect", SQLiteStore.sendAgain,
            ["delivery_by_stream (device=? AND settled_at>?)", "PRIMARY KEY (notification_id=? AND device=?)"]
        ),
        ("audience", AudienceWalk.tagged, ["device_tag_by_tag (tag=? AND device>?)"]),
        ("tokens", SQLiteReader.allTokens, ["sqlite_autoindex_token_2 (prefix>?)"]),
        ("tokens of a user", SQLiteReader.tokensOfOne, ["token_by_user (user_id=?)"]),
        ("collecting", SQLiteReader.fetch, ["PRIMARY KEY (notification_id=? AND user_id=?)"]),
        ("token", SQLiteReader.tokenInUse, ["PRIMARY KEY (hash=?)"]),
        ("list", SQLiteReader.changes, ["recipient_by_user (user_id=? AND change>?)"]),
        ("leases that end", SQLiteStore.nextLeases, ["untaken_by_lease (leased_until>?)"]),
        (
            "what waits for a user who is deleted", SQLiteStore.untakenByUser,
            ["recipient_by_user (user_id=? AND change<?)", "PRIMARY KEY (notification_id=? AND user_id=?)"]
        ),
        ("another administrator", SQLiteStore.otherAdministrator, ["user_by_administration (role=?)"]),
        ("claims that expire", SQLiteStore.expiredClaims, ["device_by_claim_time (registered_at<?)"]),
        ("codes that expire", SQLiteStore.expiredConfirmations, ["confirmation_by_push (pushed_at<?)"]),
        ("the claim of a device", SQLiteStore.endClaim, ["device_by_claim (claims_for=?)"]),
        (
            "the row of a claim", Registrar.claim,
            ["SEARCH d USING INDEX device_by_claim (claims_for=?)", "SEARCH c USING COVERING INDEX device_by_claim"]
        ),
        ("devices with a handle", Registrar.holders, ["device_by_handle (platform=? AND handle_key=?)"]),
        ("whether a user has a handle", Registrar.held, ["device_by_user (user_id=?)"]),
        ("claims of a user", Registrar.newestPushes, ["confirmation_by_user (user_id=? AND pushed_at>?)"]),
        ("what has moved", SQLiteReader.moved, ["device_by_retirement (user_id=? AND retired_at>?)"]),
        (
            "what is scheduled and due", SQLiteStore.due,
            ["scheduled_by_due (is_set_aside=? AND due_at<?)", "SEARCH n USING INTEGER PRIMARY KEY"]
        ),
        ("what is due next", SQLiteStore.firstDue, ["COVERING INDEX scheduled_by_due (is_set_aside=?)"]),
        ("events", SQLiteReader.allEvents, ["e USING INTEGER PRIMARY KEY (rowid>?)"]),
        ("events of a sender", SQLiteReader.eventsOfSender, ["event_by_sender (sender_id=? AND rowid>?)"]),
        ("the oldest event", SQLiteReader.oldestEvent, ["event USING INTEGER PRIMARY KEY (rowid>?)"]),
        (
            "gaps in the events", SQLiteReader.gaps,
            ["event_by_start (kind=? AND rowid>?)", "p USING INTEGER PRIMARY KEY (rowid<?)"]
        ),
        ("events that are old", SQLiteStore.oldestEvents, ["event USING INTEGER PRIMARY KEY (rowid<?)"]),
        (
            "failed pushes", SQLiteReader.failedPushes,
            ["INDEX delivery_by_failure (settled_at>?", "SEARCH v USING INTEGER PRIMARY KEY"]
        ),
        ("recipients", SQLiteReader.recipients, ["SEARCH r USING PRIMARY KEY (notification_id=? AND user_id>?)"]),
        (
            "pushes to a user", SQLiteReader.deliveriesToUser,
            ["device_by_user (user_id=?)", "PRIMARY KEY (notification_id=? AND device=?)"]
        ),
        (
            "latest notifications of a user", SQLiteReader.latestNotifications,
            ["recipient_by_user (user_id=?)", "SEARCH n USING INTEGER PRIMARY KEY"]
        ),
        ("expired", SQLiteStore.expired, ["notification_by_expiry (expires_at<?)"]),
    ]

    @Test(arguments: Self.queries.indices)
    func hotQueryScansNoTable(number: Int) async throws {
        let query = Self.queries[number]
        let fixture = try StoreFixture()
        let plan = try await fixture.sqlite.writer.write { db in
            try db.plan(of: query.sql)
        }
        await fixture.store.close()
        // Results of subqueries, and lists that are bound to the query, are not tables, so a scan
        // of them is allowed.
        let scans = plan.filter { $0.hasPrefix("SCAN") && !$0.hasPrefix("SCAN (subquery") && !$0.contains("json_each") }
        #expect(scans.isEmpty, "\(query.name): \(plan)")
        for index in query.indexes { #expect(plan.contains { $0.contains(index) }, "\(query.name): \(plan)") }
    }
}
