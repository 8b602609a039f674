import Cryptography
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Tests that a device keeps, shows and reports over time what
/// `docs/evidence/vectors/histories.json` expects.
@Suite(.timeLimit(.minutes(5))) struct InboxHistoryTests {
    private static func histories() throws -> [JSONValue] { try VectorFile("histories").list("histories") }

    @Test(arguments: try Self.histories().indices)
    func aHistoryLeavesWhatTheVectorSays(number: Int) async throws {
        let history = try Self.histories()[number]
        let folder = try TemporaryFolder()
        let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: SymmetricKey(data: Data(count: 32)))
        func keeper() -> InboxKeeper {
            InboxKeeper(Records(store, server: "https://push.example", account: "alice", isSigned: true).account)
        }
        for (number, step) in try history.list("steps").enumerated() {
            // Each step acts like a separate process.
            try await Self.take(step, keeper(), "\(history.text("name")), step \(number + 1)")
        }
    }

    private static func take(_ step: JSONValue, _ keeper: InboxKeeper, _ name: String) async throws {
        let now = try step.time("deviceTime")
        let exchange = try VectorExchange(step)
        // The check uses the server's time. With the time of a device whose clock is a day ahead,
        // the check would refuse the answer.
        let checked = try exchange.checked(by: VectorFile.pinned(), now: step.time("serverTime"))
        #expect(try checked.fields.serverTime == step.time("serverTime"), "\(name)")
        var sync = Sync(keeper, app: nil, keyQuery: [], now: now)
        let isRestart = step["restarts"] == .bool(true)
        var next: String
        do {
            let isMore = try await sync.merge(
                APITransport.success(checked),
                requestedAt: keeper.read(),
                isRestart: isRestart
            )
            next = isMore ? "more" : "done"
        } catch PushClientError.problem(let problem) where problem.code == .invalidCursor {
            next = "restart"
        }
        let due = try step.text("next")
        #expect(next == due, "\(name)")
        let index = try await keeper.read().index
        #expect(index.cursor == step["cursor"]?.text, "\(name)")
        let cached = try index.names.sorted { $0.id < $1.id }.map { try #require(try keeper.account.item($0)).item }
        #expect(try cached == step.list("cached").map { try #require(NotificationItem($0)) }, "\(name)")
        let shown = try await keeper.inbox(now: now).inbox.notifications
        #expect(try shown.map(\.id) == step.ids("shown"), "\(name)")
        #expect(try sync.unstored.keys.sorted() == step.ids("uncached"), "\(name)")
        let changes = try await keeper.changes(since: nil, consumer: "test")
        #expect(try changes.arrived.sorted() == step.ids("arrived"), "\(name)")
        #expect(try changes.deleted.sorted() == step.ids("deleted"), "\(name)")
        try await keeper.take(changes)
        #expect(try await keeper.changes(since: nil, consumer: "test").isEmpty, "\(name): nothing is reported twice")
    }
}
