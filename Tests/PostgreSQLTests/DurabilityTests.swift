import PostgreSQL
import PushTesting
import Testing

/// A confirmed commit is on the server's disk, whatever a role's default settings are.
@Suite(.timeLimit(.minutes(5))) struct DurabilityTests {
    @Test(arguments: [
        ("off", "on"), ("local", "on"), ("on", "on"), ("remote_write", "remote_write"),
        ("remote_apply", "remote_apply"),
    ])
    func aSessionWaitsForTheDiskWhateverItsDatabaseHas(usual: String, expected: String) async throws {
        let address = try PostgreSQLCluster.shared.newDatabase()
        try BlockingConnection(address).execute(
            #"alter database "\#(address.database)" set synchronous_commit = \#(usual)"#
        )
        let setting = "select current_setting('synchronous_commit')"
        #expect(try BlockingConnection(address).query(setting)[0].text(0) == expected)
        try await withPool(at: { _ in address }) { fixture in
            #expect(try await fixture.pool.query(setting)[0].text(0) == expected)
            let written = try await fixture.pool.transaction { try await $0.query(setting)[0].text(0) }
            #expect(written == expected)
        }
        try PostgreSQLCluster.shared.drop(address)
    }

    @Test func synchronousCommitIsForcedForARoleThatDisablesIt() throws {
        let address = try PostgreSQLCluster.shared.newDatabase()
        let role = address.database
        try BlockingConnection(address).execute(
            #"create role "\#(role)" login; alter role "\#(role)" set synchronous_commit = off"#
        )
        let session = try BlockingConnection(DatabaseAddress("\(address)".replacing("postgres@", with: "\(role)@")))
        #expect(try session.query("select current_setting('synchronous_commit')")[0].text(0) == "on")
    }

    @Test(arguments: ["fsync", "full_page_writes"])
    func aServerWithoutCrashSafeWritesIsRefused(setting: String) async throws {
        let twins = try await TwinServers()
        let address = try twins.address(of: .first)
        let before = try BlockingConnection(address)
        try before.execute("alter system set \(setting) = off")
        _ = try before.query("select pg_reload_conf()")
        try await eventually { try before.query("select current_setting('\(setting)')")[0].text(0) == "off" }
        let reason = "set \(setting) = on"
        let blocking = await failure { _ = try BlockingConnection(address) }
        #expect("\(String(describing: blocking))".contains(reason), "\(String(describing: blocking))")
        try await withPool("", .shortTimeouts, at: { _ in address }) { try await $0.expectUnavailable(reason) }
    }
}
