import Foundation
import PostgreSQL
import PushTesting
import Reactor
import Synchronization
import Testing

/// Records the events that a pool of connections reports about the database servers that it finds.
private final class Events: Sendable {
    private let noted = Mutex<[ClusterEvent]>([])

    var all: [ClusterEvent] { self.noted.withLock { $0 } }

    func record(_ event: ClusterEvent) {
        self.noted.withLock { $0.append(event) }
    }
}

/// Runs `body` with two servers that have a common address, and with a pool of connections to this
/// address. At first the address leads to the server `name`.
private func withTwins(
    at name: TwinServers.Name,
    _ options: PoolOptions = .longTimeouts,
    _ body: @Sendable (TwinServers, ConnectionPool, Events) async throws -> Void
) async throws {
    let twins = try await TwinServers()
    try twins.lead(to: name)
    let loop = try EventLoop(index: 0)
    let events = Events()
    let pool = ConnectionPool(try twins.address(), options, on: loop) { events.record($0) }
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(twins, pool, events))
    } catch {
        result = .failure(error)
    }
    await pool.close()
    loop.stop()
    try result.get()
}

private let timeline = "select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::int8"

private func createTable(_ twins: TwinServers, _ name: TwinServers.Name) throws -> BlockingConnection {
    let connection = try BlockingConnection(twins.address(of: name))
    try connection.execute("create table t(n int8)")
    return connection
}

@Suite(.timeLimit(.minutes(5))) struct ClusterGuardTests {
    @Test func anOlderTimelineIsNeitherReadNorWritten() async throws {
        try await withTwins(at: .second, .shortTimeouts) { twins, pool, events in
            let first = try createTable(twins, .first)
            _ = try createTable(twins, .second)
            try await eventually { (try? await pool.query(timeline).first?.integer(0)) == 2 }
            try twins.lead(to: .first)
            try twins.disconnect(.second)
            try await eventually {
                let error = await failure { _ = try await pool.query("select n from t") }
                #expect(error?.isUnavailable == true)
                return pool.fault != nil
            }
            let read = await failure { _ = try await pool.query("select n from t") }
            let reason = "the server is on timeline 1, but timeline 2 was used before"
            #expect(read?.isUnavailable == true && read?.description.contains(reason) == true, "\(read as Any)")
            let write = await failure {
                try await pool.transaction { _ = try await $0.query("insert into t(n) values (1)") }
            }
            #expect(write?.isUnavailable == true, "\(write as Any)")
            let fault = try #require(pool.fault)
            #expect(fault.kind == .olderTimeline(1, newest: 2))
            #expect(try first.query("select count(*) from t").first?.integer(0) == 0)
            try twins.lead(to: .second)
            try await eventually {
                let count = try? await pool.query("select count(*) from t").first?.integer(0)
                return count == 0
            }
            #expect(pool.fault == nil)
            #expect(events.all == [.refused(fault), .trusted])
        }
    }

    @Test func anotherClusterIsNotUsed() async throws {
        let elsewhere = try PostgreSQLCluster.shared.newDatabase()
        try await withTwins(at: .first, .shortTimeouts) { twins, pool, _ in
            try await eventually { (try? await pool.query("select 1")) != nil }
            // The address now leads to another cluster, which has a database of the same name.
            let host = elsewhere.description.split(separator: "@").last?.prefix { $0 != ":" && $0 != "/" }
            try twins.lead(to: try #require(host.flatMap { String($0).removingPercentEncoding }))
            try twins.disconnect(.first)
            try await eventually {
                let error = await failure { _ = try await pool.query("select 1") }
                #expect(error?.isUnavailable == true)
                return pool.fault != nil
            }
            #expect(pool.fault?.kind == .otherCluster)
        }
        try PostgreSQLCluster.shared.drop(elsewhere)
    }

    @Test func connectionsToAnOlderTimelineAreClosedOnceANewerIsSeen() async throws {
        try await withTwins(at: .first) { twins, pool, events in
            _ = try createTable(twins, .first)
            let second = try createTable(twins, .second)
            let error = await failure {
                try await pool.transaction { transaction in
                    _ = try await transaction.query("insert into t(n) values (1)")
                    try twins.lead(to: .second)
                    // This query opens a new connection, because the pool has no open connection
                    // for reads yet.
                    #expect(try await pool.query(timeline).first?.integer(0) == 2)
                }
            }
            // The pool has run the transaction again, on the server with the newer timeline.
            #expect(error == nil)
            #expect(try second.query("select count(*) from t").first?.integer(0) == 1)
            let first = try BlockingConnection(twins.address(of: .first))
            #expect(try first.query("select count(*) from t").first?.integer(0) == 0)
            let system = try first.query("select system_identifier from pg_control_system()")[0].integer(0)
            #expect(events.all == [.advanced(ClusterIdentity(system: "\(system)", timeline: 2))])
        }
    }

    @Test func theLastUsedTimelineIsCheckedAtTheFirstConnection() async throws {
        let twins = try await TwinServers()
        let newest = try BlockingConnection.open(twins.address(of: .second), after: nil).identity
        #expect(newest.timeline == 2)
        let fault = #expect(throws: ClusterFault.self) {
            _ = try BlockingConnection.open(twins.address(of: .first), after: newest)
        }
        #expect(fault?.kind == .olderTimeline(1, newest: 2))
        let other = ClusterIdentity(system: "1", timeline: 1)
        #expect(throws: ClusterFault.self) {
            _ = try BlockingConnection.open(twins.address(of: .second), after: other)
        }
        let loop = try EventLoop(index: 0)
        let pool = ConnectionPool(try twins.address(of: .first), .shortTimeouts, on: loop, after: newest)
        try await eventually {
            let error = await failure { _ = try await pool.query("select 1") }
            #expect(error?.isUnavailable == true)
            return pool.fault != nil
        }
        #expect(pool.fault?.kind == fault?.kind)
        await pool.close()
        loop.stop()
    }

    /// `pg_cancel_backend` and a shutdown of the primary end a commit's wait for a replica with a
    /// success. This success does not prove that the replica has the commit.
    @Test func aCommitWithACancelledReplicaWaitHasAnUnknownOutcome() async throws {
        try await withTwins(at: .first) { twins, pool, _ in
            let other = try createTable(twins, .first)
            try other.execute("alter system set synchronous_standby_names = 'nobody'")
            _ = try other.query("select pg_reload_conf()")
            // A commit waits for a replica only if the checkpointer has also read the setting. The
            // checkpointer reads it before it runs a requested checkpoint.
            try await eventually { try other.query("show synchronous_standby_names")[0].text(0) == "nobody" }
            for _ in 0..<2 { try other.execute("checkpoint") }
            // Both connections are opened first, because the wait of one must not end before that
            // of the other begins.
            _ = try await pool.query("select 1")
            try await pool.transaction { _ = try await $0.query("select 1") }
            async let outcome = failure {
                try await pool.transaction { _ = try await $0.query("insert into t(n) values (1)") }
            }
            async let single = failure { _ = try await pool.query("insert into t(n) values (2)") }
            try await eventually {
                let sql = "select count(*) from pg_stat_activity where wait_event = 'SyncRep'"
                return try other.query(sql).first?.integer(0) == 2
            }
            _ = try other.query("select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'")
            let warning = "canceling wait for synchronous replication due to user request"
            #expect(await outcome == .unknownOutcome(reason: warning))
            #expect(await single == .unknownOutcome(reason: warning))
            // The rows are stored, so no caller may be told that its commit has failed.
            #expect(try other.query("select count(*) from t").first?.integer(0) == 2)
        }
    }

    /// The limits for writes and for connecting are longer than the test's time limit, so only the
    /// two other limits can end the waits.
    @Test func eachWaitOnAFrozenServerEndsAtItsTimeout() async throws {
        var options = PoolOptions()
        options.readLimit = .seconds(5)
        options.silenceLimit = .seconds(5)
        options.writeLimit = .seconds(3600)
        options.connectLimit = .seconds(3600)
        try await withTwins(at: .first, options) { twins, pool, _ in
            _ = try createTable(twins, .first)
            _ = try await pool.query("select 1")
            let committing = Counter()
            async let commit = failure {
                try await pool.transaction { transaction in
                    _ = try await transaction.query("insert into t(n) values (1)")
                    twins.signal(.first, SIGSTOP)
                    committing.increment()
                }
            }
            try await eventually { committing.value == 1 }
            async let read = failure { _ = try await pool.query("select 1") }
            #expect(await commit?.isUnknown == true)
            // The pool has repeated the read, because another server could have taken over.
            #expect(await read?.isUnavailable == true)
        }
    }
}
