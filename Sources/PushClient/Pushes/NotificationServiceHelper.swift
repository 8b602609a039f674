internal import Foundation
public import PushAPI
internal import Synchronization

/// What a notification service extension does: fetches what a push names, and hands over its
/// content exactly once and in time.
///
/// What can go wrong ends in the placeholder, the push's own constant text: no network, one that
/// interferes, an account that has signed out, a payload that may be read once, and a system that
/// has no more time.
///
/// ```swift
/// final class NotificationService: UNNotificationServiceExtension {
///     private let helper = NotificationServiceHelper(clients: { Shared.clients }) { item, content in
///         guard let result = try? item.decode(Result.self) else { return }
///         content.title = result.title
///         content.body = result.text
///         content.threadIdentifier = result.patient
///     }
///
///     override func didReceive(
///         _ request: UNNotificationRequest,
///         withContentHandler handler: @escaping (UNNotificationContent) -> Void
///     ) {
///         self.helper.didReceive(request, withContentHandler: handler)
///     }
///
///     override func serviceExtensionTimeWillExpire() { self.helper.expire() }
/// }
/// ```
public final class NotificationServiceHelper: Sendable {
    /// Writes what an item shows into the placeholder's content.
    public typealias Fill = @Sendable (_ item: NotificationItem, _ content: inout NotificationContent) -> Void

    private let clients: @Sendable () -> [PushClient]
    private let limit: Duration
    private let badge: @Sendable (PushClient) async -> Int?
    private let fill: Fill
    /// Those that have not been handed over. A lock, since the system calls from threads of its
    /// own.
    private let pending = Mutex<[UUID: Delivery]>([:])

    /// `clients` are asked for at each push, one for each account that is signed in. `limit` is
    /// what the extension gives itself of the 30 seconds that the system does; `badge` says which
    /// number the icon has, `nil` the one that the push came with. By default it is that of the
    /// account's unread notifications, once all of them are kept.
    public init(
        clients: @escaping @Sendable () -> [PushClient],
        limit: Duration = .seconds(25),
        badge: @escaping @Sendable (PushClient) async -> Int? = { await $0.keptBadge() },
        fill: @escaping Fill
    ) {
        self.clients = clients
        self.limit = limit
        self.badge = badge
        self.fill = fill
    }

    /// Hands over the content of a push. Returns when that is done, which another call may have
    /// done by ``expire()``.
    ///
    /// `placeholder` is what the push shows by itself; `push` is `nil` if it is none of the
    /// server's.
    public func deliver(
        _ push: PushMessage?,
        placeholder: NotificationContent,
        to handler: @escaping @Sendable (NotificationContent) -> Void
    ) async {
        await self.finish(self.begin(placeholder, handler), push)
    }

    /// Hands over the placeholders of all pushes that are still under way: the system has no more
    /// time for them.
    public func expire() {
        let pending = self.pending.withLock { pending in
            defer { pending = [:] }
            return pending
        }
        for delivery in pending.values { delivery.end(delivery.placeholder) }
    }

    // MARK: Steps

    /// From here on the content is handed over, whatever happens.
    func begin(
        _ placeholder: NotificationContent,
        _ handler: @escaping @Sendable (NotificationContent) -> Void
    ) -> Delivery {
        let delivery = Delivery(placeholder, handler)
        self.pending.withLock { $0[delivery.id] = delivery }
        return delivery
    }

    /// Fetches, fills and hands over.
    func finish(_ delivery: Delivery, _ push: PushMessage?) async {
        var content: NotificationContent?
        if let push { content = await self.content(of: push, delivery) }
        _ = self.pending.withLock { $0.removeValue(forKey: delivery.id) }
        delivery.end(content ?? delivery.placeholder)
    }

    // MARK: - Private

    /// `nil` if there is nothing but the placeholder to show, or the time is over.
    private func content(of push: PushMessage, _ delivery: Delivery) async -> NotificationContent? {
        guard let client = PushClient.recipient(of: push, among: self.clients()) else { return nil }
        // The app's closures may not end when they are cancelled, and the system does not wait.
        // Without a content in time there is none.
        return try? await CallDeadline.race(within: self.limit) {
            await self.content(of: push.id, client, delivery.placeholder)
        }
    }

    private func content(
        of id: Int64,
        _ client: PushClient,
        _ placeholder: NotificationContent
    ) async -> NotificationContent? {
        // Whatever it is that failed, a proxy may have written it: the placeholder says where to
        // look.
        guard let item = try? await client.shownItem(id) else { return nil }
        var content = placeholder
        self.fill(item, &content)
        // The badge is the icon's number, not this notification's: it is asked for once the item
        // is kept.
        if let badge = await self.badge(client) { content.badge = badge }
        return content
    }
}

/// One content that is handed over once.
final class Delivery: Sendable {
    let id = UUID()
    let placeholder: NotificationContent
    private let handler: Mutex<(@Sendable (NotificationContent) -> Void)?>

    init(_ placeholder: NotificationContent, _ handler: @escaping @Sendable (NotificationContent) -> Void) {
        self.placeholder = placeholder
        self.handler = Mutex(handler)
    }

    /// Only the first call has an effect.
    func end(_ content: NotificationContent) {
        let handler = self.handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
        handler?(content)
    }
}

extension PushClient {
    /// The number of unread notifications, as far as it is known without a network.
    ///
    /// It holds one of them at a time: an extension has no memory for all that are kept.
    public func keptBadge() async -> Int? {
        await self.inbox.prepare()
        // Without a number the icon stays as it is.
        return try? await self.inbox.unreadCount(now: self.now())
    }

    /// The item to show before its user has opened the app; `nil` if that must wait.
    ///
    /// What may be read once is not fetched: its minute would begin, and the app would find
    /// nothing when it is tapped. That it is such a one a list of one tells, which has no payload
    /// of it.
    func shownItem(_ id: Int64) async throws -> NotificationItem? {
        var request = APIRequest("GET", Paths.notifications)
        request.query = [URLQueryItem(name: "ids", value: String(id))]
        let answer = try await self.api.call(request)
        guard case .array(let items)? = answer.json?["Notifications"] else { throw answer.unexpected("a list") }
        guard let item = items.lazy.compactMap(NotificationItem.init).first(where: { $0.id == id }), !item.isReadOnce
        else { return nil }
        return try await self.notification(id).value
    }
}
