internal import Foundation
public import PushAPI

/// The work of a notification service extension: fetches the notification that a push names, and
/// delivers its content exactly once and in time.
///
/// After any failure the helper delivers the placeholder, the fixed text in the push itself.
/// Failures are a missing network, an interference, an account that has signed out, a read-once
/// payload, an end-to-end payload that the device cannot open, and the end of the system's time.
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
    /// A closure that writes the text of a notification into the content, which is at first the
    /// placeholder.
    ///
    /// The closure may wait, for example for the download of an image. If the closure takes longer
    /// than the helper's limit, the placeholder is shown: give a download a shorter timeout.
    public typealias Fill = @Sendable (_ item: NotificationItem, _ content: inout NotificationContent) async -> Void

    private let clients: @Sendable () -> [PushClient]
    private let deviceKeys: @Sendable () -> [DeviceKeys]
    private let senders: [String]
    private let limit: Duration
    private let badge: (@Sendable (PushClient) async -> Int?)?
    private let fill: Fill
    /// The deliveries that have not ended yet. A lock protects this dictionary, because the system
    /// calls the helper from threads of its own.
    private let pending = Locked<[UUID: Delivery]>([:])

    /// The helper calls `clients` for each push; the closure returns one client for each account
    /// that is signed in. `limit` is the time that the helper uses of the 30 seconds that the
    /// system allows. `badge` returns the number on the icon; `nil` leaves the push's own number.
    /// By default it is the number of unread notifications of all accounts, if all notifications
    /// are cached.
    ///
    /// With `senders`, the public keys of the backends that the app trusts, the helper opens the
    /// end-to-end payload, and `fill` gets the opened one. `deviceKeys` returns this device's keys
    /// of all accounts. If a client has ``PushClient/Options/deviceKey``, the helper shows the
    /// placeholder for each payload that it cannot open, and for a clear payload, which a
    /// malicious server could have written. Other clients' payloads stay as they are.
    public init(
        clients: @escaping @Sendable () -> [PushClient],
        deviceKeys: @escaping @Sendable () -> [DeviceKeys] = { [] },
        senders: [String] = [],
        limit: Duration = .seconds(25),
        badge: (@Sendable (PushClient) async -> Int?)? = nil,
        fill: @escaping Fill
    ) {
        self.clients = clients
        self.deviceKeys = deviceKeys
        self.senders = senders
        self.limit = limit
        self.badge = badge
        self.fill = fill
    }

    /// Delivers the content of a push. Returns after the delivery, which ``expire()`` may have
    /// made.
    ///
    /// `placeholder` is the content of the push itself; `push` is `nil` if the push does not come
    /// from the server.
    public func deliver(
        _ push: PushMessage?,
        placeholder: NotificationContent,
        to handler: @escaping @Sendable (NotificationContent) -> Void
    ) async {
        await self.finish(self.begin(placeholder, handler), push)
    }

    /// Delivers the placeholders of all unfinished pushes: the system's time for them is over.
    public func expire() {
        let pending = self.pending.withLock { pending in
            defer { pending = [:] }
            return pending
        }
        for delivery in pending.values { delivery.end(delivery.placeholder) }
    }

    // MARK: Steps

    /// Registers a delivery. From here on, a content is delivered for it in any case.
    func begin(
        _ placeholder: NotificationContent,
        _ handler: @escaping @Sendable (NotificationContent) -> Void
    ) -> Delivery {
        let delivery = Delivery(placeholder, handler)
        self.pending.withLock { $0[delivery.id] = delivery }
        return delivery
    }

    /// Fetches the notification, fills the content with its text and delivers the content.
    func finish(_ delivery: Delivery, _ push: PushMessage?) async {
        var content: NotificationContent?
        if let push { content = await self.content(of: push, delivery) }
        _ = self.pending.withLock { $0.removeValue(forKey: delivery.id) }
        delivery.end(content ?? delivery.placeholder)
    }

    // MARK: - Private

    /// The content of a push; `nil` if only the placeholder can be shown, or the time is over.
    private func content(of push: PushMessage, _ delivery: Delivery) async -> NotificationContent? {
        let clients = self.clients()
        guard let client = PushClient.recipient(of: push, among: clients) else { return nil }
        // The app's closures may ignore cancellation, and the system does not wait. If the content
        // is not ready in time, the placeholder is shown.
        return try? await CallDeadline.race(within: self.limit) {
            await self.content(of: push.id, client, among: clients, delivery.placeholder)
        }
    }

    private func count(_ client: PushClient, among clients: [PushClient]) async -> Int? {
        if let badge { return await badge(client) }
        var count = 0
        for client in clients {
            guard let badge = await client.cachedBadge() else { return nil }
            count += badge
        }
        return count
    }

    private func content(
        of id: Int64,
        _ client: PushClient,
        among clients: [PushClient],
        _ placeholder: NotificationContent
    ) async -> NotificationContent? {
        // The text of an error may come from a proxy, so the user sees the placeholder and not
        // this text.
        guard let item = try? await client.preview(id), !item.isReadOnce,
            let item = try? await self.opened(item, client)
        else { return nil }
        var content = placeholder
        await self.fill(item, &content)
        // The badge counts all unread notifications, so the helper reads the number after it has
        // cached this notification.
        if let badge = await self.count(client, among: clients) { content.badge = badge }
        return content
    }

    /// The notification with its payload opened, if its account uses end-to-end encryption.
    private func opened(_ item: NotificationItem, _ client: PushClient) async throws -> NotificationItem {
        guard !self.senders.isEmpty, let key = client.options.deviceKey else { return item }
        guard let keys = self.deviceKeys().first(where: { $0.key.id == key.id }) else {
            throw UnreadablePayload.notForThisDevice
        }
        return item.with(payload: try await client.openPayload(of: item, with: keys, from: self.senders).payload)
    }
}

/// The delivery of one content, which happens only once.
final class Delivery: Sendable {
    let id = UUID()
    let placeholder: NotificationContent
    private let handler: Locked<(@Sendable (NotificationContent) -> Void)?>

    init(_ placeholder: NotificationContent, _ handler: @escaping @Sendable (NotificationContent) -> Void) {
        self.placeholder = placeholder
        self.handler = Locked(handler)
    }

    /// Delivers the content. Only the first call has an effect.
    func end(_ content: NotificationContent) {
        let handler = self.handler.withLock { handler in
            defer { handler = nil }
            return handler
        }
        handler?(content)
    }
}

extension PushClient {
    /// The number of unread notifications, as far as the client knows it without a network.
    ///
    /// During the count the client has one notification at a time in memory, since an extension
    /// lacks the memory for all of them.
    public func cachedBadge() async -> Int? {
        await self.inbox.prepare()
        // If the number is unknown, the icon stays unchanged.
        return try? await self.inbox.unread(now: self.now())?.count
    }
}
