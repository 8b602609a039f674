import Foundation
import PushAPI
import Testing

@testable import PushClient

/// What two calls at the same time may do to the kept inbox.
@Suite(.timeLimit(.minutes(5))) struct InboxKeeperTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static func keeper(_ store: AnswerStore) -> InboxKeeper {
        InboxKeeper(Records(store, server: "http://push.example", account: "user:alice", isSigned: false))
    }

    private static func page(_ ids: [Int64], cursor: String) throws -> InboxPage {
        let text = Samples.list(ids.map { Samples.item($0) }, cursor: cursor)
        return try InboxPage(
            Answer(
                request: APIRequest("GET", "/api/notifications"),
                status: 200,
                body: Data(text.utf8),
                fields: Answer.Fields(tag: nil, isNoStore: false, retryAfter: nil),
                json: JSONValue(reading: text.utf8)
            )
        )
    }

    @Test func aPageIsTakenOnlyBehindTheCursorThatItWasAskedWith() async throws {
        let store = AnswerStore.memory
        let (one, other) = (Self.keeper(store), Self.keeper(store))
        let first = try await one.take(Self.page([1], cursor: "a"), inPlaceOf: .older, after: nil, now: Self.now)
        #expect(first?.cursor == "a")
        // Asked at the same time as the first, and later here.
        for extent in [InboxKeeper.Extent.older, .everything] {
            let late = try await other.take(Self.page([2], cursor: "b"), inPlaceOf: extent, after: nil, now: Self.now)
            #expect(late == nil)
        }
        #expect(await one.state.cursor == "a")
        #expect(await one.state.items().map(\.id) == [1])
        let next = try await other.take(Self.page([3], cursor: "c"), inPlaceOf: .older, after: "a", now: Self.now)
        #expect(next?.items().map(\.id) == [1, 3])
        let anew = try await one.take(Self.page([4], cursor: "d"), inPlaceOf: .everything, after: "c", now: Self.now)
        #expect(anew?.items().map(\.id) == [4])
    }

    @Test func nothingIsChangedBeforeTheFirstPage() async {
        let keeper = Self.keeper(.memory)
        await keeper.change { $0.cursor = "invented" }
        #expect(await keeper.state.cursor == nil)
    }
}
