import PostgreSQL
import PushTesting
import Testing

/// Settings that one transaction changes. The next transaction on the same connection must have
/// the usual settings.
@Suite(.timeLimit(.minutes(5))) struct TransactionTraitsTests {
    private static let usual = ["on", "on"]

    private static let settings: [(TransactionTraits, [String])] = [
        (.relaxed, ["off", "on"]), (.ordered, ["on", "off"]), ([.relaxed, .ordered], ["off", "off"]), ([], usual),
    ]

    @Test(arguments: Self.settings) func settingsLastUntilTheTransactionEnds(
        traits: TransactionTraits,
        expected: [String]
    )
        async throws
    {
        try await withPool { fixture async throws in
            let (during, after) = (try await Self.read(fixture.pool, traits), try await Self.read(fixture.pool))
            #expect(during == expected)
            #expect(after == Self.usual)
        }
    }

    private static func read(_ pool: ConnectionPool, _ traits: TransactionTraits = []) async throws -> [String] {
        try await pool.transaction(traits) { transaction in
            let row = try #require(
                try await transaction.query(
                    "select current_setting('synchronous_commit'), current_setting('enable_bitmapscan')"
                ).first
            )
            return [try row.text(0), try row.text(1)]
        }
    }
}
