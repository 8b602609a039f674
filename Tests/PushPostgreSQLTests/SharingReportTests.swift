import Foundation
import PostgreSQL
import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

/// A server's report, for operators, about the database that it shares with other servers.
@Suite(.timeLimit(.minutes(5))) struct SharingReportTests {
    @Test func eachServerIsCountedUntilItEnds() async throws {
        let first = try StoreFixture(.postgreSQL, options: .silent)
        let second = try first.reopened(options: .silent)
        try first.extendLeases()
        let report = try #require(try await first.store.cluster?.sharing())
        #expect(report.servers == 2)
        #expect(report.connections > 0)
        #expect(report.standbys == 0)
        #expect(report.standbyLag == nil)
        #expect(report.otherClock == nil, "the database is on this machine")
        await second.store.close()
        #expect(try await first.store.cluster?.sharing().servers == 1)
    }

    @Test func eachServerIsNamedAndOneThatHasEndedIsGone() async throws {
        let first = try StoreFixture(.postgreSQL, options: .silent)
        var options = StoreOptions.silent
        options.cluster.release = "9.8"
        let second = try first.reopened(options: options)
        try first.extendLeases()
        let both = try #require(try await second.store.cluster?.servers(limit: 10))
        #expect(both.map(\.state) == [.alive, .alive])
        #expect(both.map(\.isThis) == [false, true])
        #expect(both.allSatisfy { $0.name.hasSuffix(" \(ProcessInfo.processInfo.processIdentifier)") })
        #expect(both.allSatisfy { $0.startedAt <= $0.heardAt })
        #expect(both[1].release == "9.8")
        let database = try BlockingConnection(#require(first.store as? PostgreSQLStore).address)
        let end = try database.query("select \(DatabaseClock.now)")[0].integer(0)
        await second.store.close()
        let left = try #require(try await first.store.cluster?.servers(limit: 10))
        #expect(left.map(\.state) == [.alive, .gone])
        #expect(left.map(\.isThis) == [true, false])
        #expect(left[1].release == "9.8")
        #expect(left[1].heardAt >= Date(milliseconds: end))
        #expect(try await first.store.cluster?.servers(limit: 1).map(\.state) == [.alive])
    }

    /// If a command's row stayed, each `sealpost user` command would be listed for a day as a
    /// server that has ended.
    @Test func aCommandIsListedAsLongAsItRuns() async throws {
        let server = try StoreFixture(.postgreSQL, options: .patient)
        var options = StoreOptions.patient
        options.cluster.isListedAfterEnd = false
        let command = try server.reopened(options: options)
        #expect(try await server.store.cluster?.servers(limit: 10).map(\.isThis) == [true, false])
        await command.store.close()
        #expect(try await server.store.cluster?.servers(limit: 10).map(\.isThis) == [true])
    }

    @Test func aSilentServerIsLateUntilItIsFenced() async throws {
        let silent = try StoreFixture(.postgreSQL, options: .silent)
        let other = try silent.reopened(options: .silent)
        let database = try BlockingConnection(#require(silent.store as? PostgreSQLStore).address)
        let number = try #require(silent.store as? PostgreSQLStore).membership.number
        // The other server's lease must not end meanwhile, however slow the machine is.
        let change = "update node set until = until + case when number = $1 then -6000 else 600000 end"
        _ = try database.query(change, number)
        let late = try #require(try await other.store.cluster?.servers(limit: 10))
        #expect(late.map(\.state) == [.late, .alive])
        #expect(late.map(\.isThis) == [false, true])
        #expect(try await other.store.cluster?.sharing().servers == 1)
        _ = try database.query(ServerMembership.fenceLate, #require(other.store as? PostgreSQLStore).membership.number)
        let gone = try #require(try await other.store.cluster?.servers(limit: 10))
        #expect(gone.map(\.state) == [.alive, .gone])
        // The fenced server itself gets the same list, until it has joined under another number.
        #expect(try await silent.store.cluster?.servers(limit: 10).map(\.isThis) == [false, true])
    }
}
