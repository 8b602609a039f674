import Foundation
import PostgreSQL
import PushTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct MultipleHostTests {
    /// Returns a function that puts other hosts before the host of an address.
    private static func behind(_ hosts: String) -> @Sendable (DatabaseAddress) throws -> DatabaseAddress {
        { address in
            let parts = address.description.split(separator: "@", maxSplits: 1)
            return try DatabaseAddress("\(parts[0])@\(hosts),\(parts[1])")
        }
    }

    /// If the pool waited for the silent host, it would exceed the test's time limit.
    @Test func deadAndSilentHostsDoNotDelayTheOneThatAnswers() async throws {
        var options = PoolOptions.longTimeouts
        options.connectLimit = .seconds(3600)
        let silent = try HeldSocket()
        try await withPool("", options, at: Self.behind("127.0.0.1:1,127.0.0.1:\(silent.port)")) { fixture in
            #expect(try await fixture.pool.query("select 1::int8").first?.integer(0) == 1)
            try await fixture.pool.transaction { _ = try await $0.query("select 1") }
        }
    }

    @Test func aReadOnlyHostIsRefused() async throws {
        let readOnly = try PostgreSQLCluster.shared.newDatabase()
        try BlockingConnection(readOnly).execute(
            #"alter database "\#(readOnly.database)" set default_transaction_read_only = on"#
        )
        try await withPool("", .shortTimeouts, at: { _ in readOnly }) { try await $0.expectUnavailable("read-only") }
        #expect(throws: DatabaseError.self) { try BlockingConnection(readOnly) }
        try PostgreSQLCluster.shared.drop(readOnly)
    }

    @Test func namesAreResolvedAndTheReasonNamesTheHost() async throws {
        let address = try DatabaseAddress("postgres://x@localhost:1,no-such-host.invalid:2/x?sslmode=disable")
        try await withPool("", .shortTimeouts, at: { _ in address }) {
            try await $0.expectUnavailable("localhost", "refused")
        }
    }

    @Test func aDatabaseThatDoesNotExistIsNamed() async throws {
        let change: @Sendable (DatabaseAddress) throws -> DatabaseAddress = { address in
            try DatabaseAddress(address.description.replacing(address.database, with: "nowhere"))
        }
        try await withPool("", .shortTimeouts, at: change) { try await $0.expectUnavailable("nowhere") }
    }
}
