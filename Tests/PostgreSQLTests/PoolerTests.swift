import PostgreSQL
import PushTesting
import Testing

/// A connection through a pooler must belong to one client alone, and must have the settings that
/// the store's statements need.
@Suite(.timeLimit(.minutes(5))) struct PoolerTests {
    private static let settings = """
        select current_setting('default_transaction_isolation'), current_setting('client_min_messages'),
            current_setting('enable_seqscan'), current_setting('plan_cache_mode'), current_setting('jit'),
            current_setting('max_parallel_workers_per_gather'),
            current_setting('statement_timeout'), current_setting('lock_timeout'),
            current_setting('idle_in_transaction_session_timeout'), current_setting('synchronous_commit')
        """

    private static func values(_ rows: Rows) throws -> [String] {
        try (0..<10).map { try rows[0].text($0) }
    }

    /// Gives each setting in `settings` another default value for one database.
    private static func change(_ address: DatabaseAddress) throws {
        let changes = [
            "default_transaction_isolation = serializable", "client_min_messages = error", "enable_seqscan = on",
            "plan_cache_mode = force_custom_plan", "jit = on", "max_parallel_workers_per_gather = 4",
            "statement_timeout = '7s'", "lock_timeout = '7s'",
            "idle_in_transaction_session_timeout = '7s'", "synchronous_commit = off",
        ]
        let script = changes.map { #"alter database "\#(address.database)" set \#($0)"# }.joined(separator: ";")
        try BlockingConnection(address).execute(script)
    }

    /// With the defaults of its configuration, PgBouncer refuses the parameter `options`.
    @Test(arguments: [nil, "pool_mode = session"])
    func aSessionHasItsSettingsWhateverItsDatabaseHas(pooler: String?) async throws {
        try await withPooler(pooler) { address, reached in
            try Self.change(address)
            let fixed = ["read committed", "warning", "off", "force_generic_plan", "off", "0"]
            let blocking = try BlockingConnection(reached).query(Self.settings)
            #expect(try Self.values(blocking) == fixed + ["0", "0", "0", "on"])
            try await withPool(at: { _ in reached }) { fixture in
                let read = try await fixture.pool.query(Self.settings)
                #expect(try Self.values(read) == fixed + ["96s", "72s", "0", "on"])
                let written = try await fixture.pool.transaction { try await $0.query(Self.settings) }
                #expect(try Self.values(written) == fixed + ["96s", "72s", "2min", "on"])
            }
        }
    }

    @Test(arguments: [
        "pool_mode = transaction",
        "pool_mode = transaction\nserver_round_robin = 1",
        "pool_mode = transaction\ndefault_pool_size = 1",
        "pool_mode = transaction\nignore_startup_parameters = options",
        "pool_mode = statement",
    ])
    func aPoolerThatSharesSessionsIsRefused(settings: String) async throws {
        try await withPooler(settings) { address, pooled in
            // The pooler's connections of the first attempt are still open at the second attempt.
            for _ in 0..<2 {
                let error = #expect(throws: DatabaseError.self) { try BlockingConnection(pooled) }
                #expect(error?.isSharedSession == true, "\(error as Any)")
            }
            let error = #expect(throws: DatabaseError.self) { try BlockingConnection.open(pooled, after: nil) }
            #expect(error?.isSharedSession == true, "\(error as Any)")
        }
    }

    @Test func aSessionWithStatementsOfAnotherClientIsRefused() async throws {
        let settings = "pool_mode = session\nserver_reset_query =\ndefault_pool_size = 1"
        try await withPooler(settings) { address, pooled in
            try await withPool(at: { _ in pooled }) { _ = try await $0.pool.query("select 1") }
            let error = #expect(throws: DatabaseError.self) { try BlockingConnection(pooled) }
            #expect(error?.isSharedSession == true, "\(error as Any)")
            try await withPool("", .shortTimeouts, at: { _ in pooled }) {
                try await $0.expectUnavailable("server_reset_query")
            }
        }
    }

    /// Without a pooler, this test removes the prepared statements instead.
    @Test func aSessionWithoutItsPreparedStatementsIsLeft() async throws {
        try await withPool { fixture in
            let pool = fixture.pool
            _ = try await pool.query("select 1::int8")
            _ = try await pool.query("deallocate all")
            let read = await failure { _ = try await pool.query("select 1::int8") }
            #expect(read?.isSharedSession == true, "\(read as Any)")
            #expect(try await pool.query("select 1::int8").first?.integer(0) == 1)
            _ = try await pool.transaction { try await $0.query("deallocate all") }
            let written = await failure { _ = try await pool.transaction { try await $0.query("select 1::int8") } }
            #expect(written?.isSharedSession == true, "\(written as Any)")
            #expect(try await pool.transaction { try await $0.query("select 1::int8") }.first?.integer(0) == 1)
        }
    }

    @Test func aStatementOfAnotherClientNeverRunsAfterAChangeOfTheMode() async throws {
        let address = try PostgreSQLCluster.shared.newDatabase()
        let pooler = try await Pooler(before: address, "pool_mode = session")
        let pooled = try pooler.address(of: address)
        try await withPool("", .shortTimeouts, at: { _ in pooled }) { first in
            try await withPool("", .shortTimeouts, at: { _ in pooled }) { second in
                let pools = [first.pool, second.pool]
                try await eventually { await failure { _ = try await pools[0].query("select 0::int8") } == nil }
                try await eventually { await failure { _ = try await pools[1].query("select 1::int8") } == nil }
                try pooler.reload(replacing: "pool_mode = session", with: "pool_mode = transaction")
                try await eventually {
                    var isNoticed = false
                    for (number, pool) in pools.enumerated() {
                        let error = await failure {
                            let row = try await pool.query("select \(number)::int8").first
                            #expect(try row?.integer(0) == Int64(number))
                        }
                        if let error { #expect(error.namesPooler || error.isUnavailable, "\(error)") }
                        isNoticed = isNoticed || error?.namesPooler == true
                    }
                    return isNoticed
                }
            }
        }
        withExtendedLifetime(pooler) {}
        try PostgreSQLCluster.shared.drop(address)
    }
}

/// Runs a test with a database, and with its address through a pooler with these settings. With
/// `nil`, both addresses are the same, without a pooler.
private func withPooler(
    _ settings: String?,
    _ body: (_ address: DatabaseAddress, _ reached: DatabaseAddress) async throws -> Void
) async throws {
    let address = try PostgreSQLCluster.shared.newDatabase()
    if let settings {
        let pooler = try await Pooler(before: address, settings)
        try await body(address, pooler.address(of: address))
        withExtendedLifetime(pooler) {}
    } else {
        try await body(address, address)
    }
    try PostgreSQLCluster.shared.drop(address)
}

extension DatabaseError {
    /// Whether the error, of whatever kind, names the pooler as its cause.
    fileprivate var namesPooler: Bool { self.description.contains("pool_mode = session") }

    fileprivate var isSharedSession: Bool {
        if case .unusable(let reason) = self { reason.contains("pool_mode = session") } else { false }
    }
}
