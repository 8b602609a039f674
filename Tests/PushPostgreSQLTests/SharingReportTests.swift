import PushStore
import PushTesting
import Testing

/// What a server tells operators of the database that it shares.
@Suite(.timeLimit(.minutes(2))) struct SharingReportTests {
    @Test func eachServerIsCountedUntilItEnds() async throws {
        let first = try StoreFixture(.postgreSQL)
        let second = try first.reopened()
        let report = try #require(try await first.store.sharing())
        #expect(report.servers == 2)
        #expect(report.connections > 0)
        #expect(report.standbys == 0)
        #expect(report.standbyLag == nil)
        await second.store.close()
        #expect(try await first.store.sharing()?.servers == 1)
    }
}
