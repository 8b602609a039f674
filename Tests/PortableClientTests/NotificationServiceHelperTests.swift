import ClientPeers
import Foundation
import PushAPI
import PushClientTesting
import Testing

@testable import PushClient

/// Tests which content the notification service extension shows, and that it does so once and in
/// time. Apple's own classes are not involved.
@Suite(.timeLimit(.minutes(5))) struct NotificationServiceHelperTests {
    private static let placeholder = NotificationContent(title: "Clinic", body: "New notification", badge: 1)

    /// The delivered contents.
    private final class Shown: Sendable {
        private let contents = Locked<[NotificationContent]>([])

        var all: [NotificationContent] { self.contents.withLock { $0 } }
        var handler: @Sendable (NotificationContent) -> Void {
            { content in self.contents.withLock { $0.append(content) } }
        }
    }

    private let server = TestServer()
    private let shown = Shown()

    private func helper(
        _ clients: [PushClient]? = nil,
        limit: Duration = .seconds(60),
        badge: @escaping @Sendable (PushClient) async -> Int? = { _ in nil }
    ) -> NotificationServiceHelper {
        let clients = clients ?? [self.server.client()]
        return NotificationServiceHelper(clients: { clients }, limit: limit, badge: badge) { item, content in
            content.body = item.payload?.text ?? "none"
            content.threadIdentifier = "thread"
        }
    }

    @Test func theContentIsFilledOnce() async {
        let id = self.server.add("Your result is in.")
        let helper = self.helper { _ in 4 }
        await helper.deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        helper.expire()
        var content = NotificationContent(title: "Clinic", body: "Your result is in.", badge: 4)
        content.threadIdentifier = "thread"
        #expect(self.shown.all == [content])
    }

    @Test func aPushIsOneRequest() async {
        let id = self.server.add("text")
        await self.helper().deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        #expect(self.server.requests.filter { $0.hasPrefix("GET /api/notifications") } == ["GET /api/notifications"])
    }

    @Test func theContentIsFilledAfterADownload() async {
        let id = self.server.add("text")
        let client = self.server.client()
        let file = URL(fileURLWithPath: "/tmp/image.png")
        let helper = NotificationServiceHelper(clients: { [client] }) { item, content in
            // This wait simulates a download.
            await Task.yield()
            content.body = item.payload?.text ?? "none"
            content.attachments = [.init(file: file)]
            (content.sound, content.interruptionLevel) = (.named("bell.caf"), .timeSensitive)
            content.userInfo = ["page": "results"]
        }
        await helper.deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        let content = self.shown.all.first
        #expect(content?.attachments.map(\.file) == [file])
        #expect(content?.sound == .named("bell.caf") && content?.interruptionLevel == .timeSensitive)
        #expect(content?.userInfo == ["page": "results"])
    }

    @Test func aCachedNotificationIsShownWithoutANetwork() async throws {
        let id = self.server.add("text")
        let client = self.server.client()
        _ = try await client.preview(id)
        self.server.network = .offline
        await self.helper([client]).deliver(
            PushMessage(id: id),
            placeholder: Self.placeholder,
            to: self.shown.handler
        )
        #expect(self.shown.all.map(\.body) == ["text"])
    }

    @Test func aRecalledNotificationHasNoPreview() async throws {
        let id = self.server.add("text")
        let client = self.server.client()
        #expect(try await client.preview(id)?.payload?.text == "text")
        self.server.recall(id)
        #expect(try await client.preview(id) == nil)
        #expect(try await client.cachedNotification(id) == nil)
    }

    @Test func aPreviewShowsWaitingTasksAsDone() async throws {
        let id = self.server.add("text")
        let client = self.server.client()
        try await client.outbox.markRead(id)
        #expect(try await client.preview(id)?.isRead == true)
        try await client.outbox.dismiss(id)
        #expect(try await client.preview(id) == nil)
    }

    @Test func aPreviewLeavesAReadOncePayload() async throws {
        let id = self.server.add(.string("code"), isReadOnce: true)
        let item = try #require(try await self.server.client().preview(id))
        #expect(item.isReadOnce && item.payload == nil)
    }

    @Test func badgeOfThePushStaysUnlessTheAppSetsOne() async {
        let id = self.server.add("text")
        await self.helper().deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        #expect(self.shown.all.map(\.badge) == [1])
    }

    @Test(arguments: [
        TestServer.Network.offline, .captivePortal, .changed, .cached, .cut,
    ])
    func placeholderIsShownIfTheFetchFails(network: TestServer.Network) async {
        let id = self.server.add("text")
        self.server.network = network
        await self.helper().deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        #expect(self.shown.all == [Self.placeholder])
    }

    @Test func placeholderIsShownForAMissingNotification() async {
        for push in [PushMessage(id: 99), nil] {
            await self.helper().deliver(push, placeholder: Self.placeholder, to: self.shown.handler)
        }
        #expect(self.shown.all == [Self.placeholder, Self.placeholder])
    }

    @Test func placeholderIsShownAfterTheTimeoutOfASilentServer() async {
        self.server.network = .silent
        let helper = self.helper(limit: .milliseconds(100))
        await helper.deliver(PushMessage(id: 1), placeholder: Self.placeholder, to: self.shown.handler)
        #expect(self.shown.all == [Self.placeholder])
    }

    /// The app's own function for the badge never returns, and ignores cancellation.
    @Test func placeholderIsShownAfterTheTimeoutOfTheBadge() async {
        let id = self.server.add("text")
        let hung = Locked<CheckedContinuation<Void, Never>?>(nil)
        let helper = self.helper(limit: .seconds(1)) { _ in
            await withCheckedContinuation { waiting in hung.withLock { $0 = waiting } }
            return 4
        }
        await helper.deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        #expect(self.shown.all == [Self.placeholder])
        hung.withLock { $0 }?.resume()
    }

    @Test func placeholderIsShownOnceWhenTheTimeExpires() async {
        let id = self.server.add("text")
        let helper = self.helper()
        let delivery = helper.begin(Self.placeholder, self.shown.handler)
        helper.expire()
        #expect(self.shown.all == [Self.placeholder])
        await helper.finish(delivery, PushMessage(id: id))
        helper.expire()
        #expect(self.shown.all == [Self.placeholder])
    }

    /// If the extension fetched the payload, the server would erase it a minute later. The app
    /// would then find nothing when the user taps the notification.
    @Test func readOncePayloadIsLeftToTheApp() async throws {
        let id = self.server.add(.string("code 4711"), isReadOnce: true)
        await self.helper().deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        #expect(self.shown.all == [Self.placeholder])
        #expect(!self.server.requests.contains("GET /api/notifications/\(id)"))
        #expect(try await self.server.client().notification(id).value.payload?.text == "code 4711")
    }

    @Test func appReadsTheExtensionsFetchWithoutANetwork() async throws {
        let store = PushClient.Store.memory
        let id = self.server.add("text")
        let helper = self.helper([self.server.client(store: store)])
        await helper.deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
        self.server.network = .offline
        let cached = try await self.server.client(store: store).notification(id)
        #expect(cached.value.payload?.text == "text")
        #expect(cached.date != nil)
    }

    @Test func pushIsFetchedForItsOwnAccount() async throws {
        let other = TestServer()
        let id = self.server.add("of alice")
        #expect(other.add("of bob") == id)
        var clients: [PushClient] = []
        for server in [self.server, other] {
            var options = server.options
            options.isDeviceShared = true
            let client = server.client(options: options)
            try await client.register(platform: "apns", handle: Data([1, 2]))
            clients.append(client)
        }
        let helper = self.helper(clients)
        let strange = PushMessage(id: id, accountHint: "AAAAAAAAAAA")
        for push in [other.push(of: id), self.server.push(of: id), strange, PushMessage(id: id)] {
            await helper.deliver(push, placeholder: Self.placeholder, to: self.shown.handler)
        }
        #expect(self.shown.all.map(\.body) == ["of bob", "of alice", Self.placeholder.body, Self.placeholder.body])
    }

    @Test func theBadgeCountsAllAccounts() async throws {
        let other = TestServer()
        other.add("of bob")
        var clients: [PushClient] = []
        for server in [self.server, other] {
            var options = server.options
            options.isDeviceShared = true
            let client = server.client(options: options)
            try await client.register(platform: "apns", handle: Data([1, 2]))
            _ = try await client.sync()
            clients.append(client)
        }
        let id = self.server.add("of alice")
        let helper = NotificationServiceHelper(clients: { [clients] in clients }) { _, _ in }
        await helper.deliver(self.server.push(of: id), placeholder: Self.placeholder, to: self.shown.handler)
        #expect(self.shown.all.map(\.badge) == [2])
    }

    @Test func concurrentPushesAreEachShownOnce() async {
        let ids = (0..<20).map { self.server.add("payload \($0)") }
        let helper = self.helper()
        await withTaskGroup { group in
            for id in ids {
                group.addTask {
                    await helper.deliver(PushMessage(id: id), placeholder: Self.placeholder, to: self.shown.handler)
                }
            }
        }
        #expect(Set(self.shown.all.map(\.body)) == Set((0..<20).map { "payload \($0)" }))
        #expect(self.shown.all.count == 20)
    }

    // MARK: Background

    @Test func refreshReportsNewDataToTheSystem() async {
        let client = self.server.client()
        let refresh = BackgroundRefresh(clients: { [client] })
        #expect(await refresh.run() == .noData)
        self.server.add("new")
        #expect(await refresh.run() == .newData)
        #expect(await refresh.run() == .noData)
        self.server.network = .offline
        #expect(await refresh.run() == .failed)
        #expect(await BackgroundRefresh(clients: { [] }).run() == .noData)
    }

    @Test func unreachableAccountDelaysNoOther() async {
        let silent = TestServer()
        silent.network = .silent
        self.server.add("new")
        let clients = [silent.client(), self.server.client()]
        let refresh = BackgroundRefresh(clients: { clients }, limit: .seconds(30))
        #expect(await refresh.run() == .newData)
        let alone = BackgroundRefresh(clients: { [clients[0]] }, limit: .milliseconds(50))
        #expect(await alone.run() == .failed)
    }
}
