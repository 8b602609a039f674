import PostgreSQL
import PushTesting
import Testing

/// What a transaction does in another way than usual, and the next one on the same connection does not.
@Suite(.timeLimit(.minutes(1))) struct TransactionTraitsTests {
    private static let usual = ["on", "on"]

    @Test(arguments: [
        (TransactionTraits.relaxed, ["off", "on"]), (.ordered, ["on", "off"]), ([.relaxed, .ordered], ["off", "off"]),
        ([], Self.usual),
    ])
    func itsSettingsLastUntilItsEnd(traits: TransactionTraits, expected: [String]) async throws {
        try await withPool { fixture in
            #expect(try await Self.settings(fixture.pool, traits) == expected)
            #expect(try await Self.settings(fixture.pool) == Self.usual)
        }
    }

    private static func settings(_ pool: ConnectionPool, _ traits: TransactionTraits = []) async throws -> [String] {
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
