import PushCore
import PushStore
import PushTesting
import Testing

@testable import PushPostgreSQL

@Suite(.timeLimit(.minutes(5))) struct ReclaimTests {
    /// A slow search for due pushes sets a mark at the time of this search. For half a minute,
    /// later searches do not read pushes with a due time below the mark.
    @Test func reclaimedPushesAreFoundBelowTheMark() async throws {
        let fixture = try StoreFixture(.postgreSQL)
        let store = try #require(fixture.store as? PostgreSQLStore)
        let alice = try await fixture.addUser("alice")
        try await fixture.addDevice(of: alice, handle: "abc")
        try await fixture.post(1, from: alice, to: "username:alice")
        #expect(try await fixture.lease().count == 1)
        for queue in Queue.allCases {
            let (lane, now) = (Lane(Platform("apns")), ContinuousClock.now)
            let search = store.marks.begin(.pushes(lane, queue), lifetime: SearchMarks.lifetime, at: now - .seconds(1))
            let later = fixture.now.milliseconds + 1_000_000
            store.marks.endLease(search, first: nil, continuedBelow: true, date: later, at: now)
        }
        try await store.reclaimLeases(now: fixture.now)
        #expect(try await fixture.lease().count == 1)
    }
}
