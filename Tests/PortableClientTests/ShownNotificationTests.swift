import Foundation
import PushClientTesting
import Testing

@testable import PushClient

/// Tests what the system shows after a background push, with a simulated notification centre.
@Suite(.timeLimit(.minutes(5))) struct ShownNotificationTests {
    /// Stands in for the system's notification centre.
    private final class Centre: Sendable {
        let entries = Locked<[ShownNotifications.Entry]>([])
        let badges = Locked<[Int]>([])

        func show(_ push: PushMessage) {
            self.entries.withLock { $0.append(.init(identifier: "system \(push.id)", push: push)) }
        }

        var shown: [Int64] { self.entries.withLock { $0.map(\.push.id) } }

        var notifications: ShownNotifications {
            ShownNotifications(
                all: { self.entries.withLock { $0 } },
                remove: { names in self.entries.withLock { $0.removeAll { names.contains($0.identifier) } } },
                setBadge: { count in self.badges.withLock { $0.append(count) } }
            )
        }
    }

    private let server = TestServer()
    private let centre = Centre()

    private func refresh(_ clients: [PushClient]) -> BackgroundRefresh {
        BackgroundRefresh(clients: { clients }, shown: self.centre.notifications)
    }

    @Test func notificationsThatAreNoLongerUnreadAreRemovedAndTheBadgeIsSet() async throws {
        let (unread, read, recalled) = (self.server.add("1"), self.server.add("2"), self.server.add("3"))
        for id in [unread, read, recalled] { self.centre.show(PushMessage(id: id)) }
        // This notification was shown only as a placeholder, and has expired meanwhile.
        self.centre.show(PushMessage(id: 4711))
        let client = self.server.client()
        _ = try await client.sync()
        try await self.server.client().markRead(read)
        self.server.recall(recalled)
        #expect(await self.refresh([client]).run() == .newData)
        #expect(self.centre.shown == [unread])
        #expect(self.centre.badges.withLock { $0 } == [1])
    }

    @Test func withoutANetworkNothingIsRemoved() async throws {
        let id = self.server.add("1")
        let client = self.server.client()
        _ = try await client.sync()
        self.centre.show(PushMessage(id: id))
        self.server.recall(id)
        self.server.network = .offline
        #expect(await self.refresh([client]).run() == .failed)
        #expect(self.centre.shown == [id])
        #expect(self.centre.badges.withLock { $0 }.isEmpty)
    }

    /// A push without an account hint may belong to any of the accounts.
    @Test func anotherAccountsNotificationsStay() async throws {
        let other = TestServer()
        let clients = [self.server.client(), other.client()]
        self.centre.show(PushMessage(id: 4711))
        self.centre.show(PushMessage(id: 4712, accountHint: "aV0mTHJ1xBI"))
        #expect(await self.refresh(clients).run() == .noData)
        #expect(self.centre.shown == [4711, 4712])
    }
}
