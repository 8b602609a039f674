import Foundation
import Observation
import PushAPI
import PushClient

/// The content of the screens and the actions of their buttons. The model does not depend on
/// Apple's systems, so tests can run it on Linux.
@MainActor @Observable final class InboxModel {
    /// How old the shown messages are.
    enum Age: Equatable {
        case notLoaded
        case upToDate
        case asOf(Date)
    }

    private(set) var isSignedIn = false
    private(set) var notifications: [NotificationItem] = []
    private(set) var age = Age.notLoaded
    /// Whether there are messages older than the shown ones.
    private(set) var hasOlder = false
    /// Advice about the last call that failed, or had to return cached messages.
    private(set) var advice: String?

    /// The message that a tap on its notification has opened.
    private(set) var opened: NotificationItem?
    /// The account's other devices that have keys for end-to-end encryption.
    private(set) var otherDevices: [PushClient.Device] = []
    /// Shows the number of unread messages on the icon, and removes notifications of messages that
    /// are read or gone.
    @ObservationIgnored var onChange: (_ unread: Int, _ gone: Set<Int64>) -> Void = { _, _ in }

    private let place: Place
    private var client: PushClient?
    /// The keys of this device, if the app uses end-to-end encryption.
    private var keys: DeviceKeys?
    /// The texts of opened end-to-end payloads by the ids of their notifications.
    private var texts: [Int64: String] = [:]
    /// The maximum number of messages to show.
    private var limit = 100
    /// The device token from the system, which may arrive before a sign-in.
    private var deviceToken: String?

    init(_ place: Place) {
        self.place = place
        // This fails before the first unlock after the device's start, when the keychain cannot be
        // read. The sign-in page would then be wrong, but the system does not show an app's
        // screens at that time.
        self.client = try? place.client()
        self.isSignedIn = self.client != nil
        self.keys = try? place.deviceKeys()
    }

    /// The text of a message; `nil` if the screen shows a placeholder.
    func text(of item: NotificationItem) -> String? {
        // With sender keys the app shows no clear payload: the server could have written it.
        self.place.senders.isEmpty ? item.text : self.texts[item.id]
    }

    /// Shows the cached messages, then the messages from the server, then each change, until the
    /// task ends.
    func run() async {
        // A failure of these sign-outs is not shown: the next start tries again.
        async let signOuts: Void? = try? self.place.finishSignOuts()
        guard let client = self.client else {
            _ = await signOuts
            return
        }
        await self.attempt { try await self.show(client) }
        await self.sync()
        await self.register()
        do {
            for try await _ in client.updates() { try await self.show(client) }
        } catch {
            self.fail(error)
        }
    }

    func sync() async {
        guard let client = self.client else { return }
        await self.attempt {
            let inbox = try await client.sync(limit: self.limit)
            self.present(inbox.value)
            self.age = inbox.date.map(Age.asOf) ?? .upToDate
            self.advice = inbox.failure?.advice.text
            try await self.openPayloads(of: self.notifications, client)
        }
    }

    /// Shows 100 more messages.
    func showOlder() async {
        guard let client = self.client else { return }
        self.limit += 100
        await self.attempt { try await self.show(client) }
    }

    /// Registers with the token that the system gives at each start.
    func register(_ deviceToken: Data) async {
        self.deviceToken = deviceToken.map { String(format: "%02x", $0) }.joined()
        await self.register()
    }

    func signIn(_ name: String, _ password: String) async {
        await self.attempt {
            do {
                self.client = try await self.place.signIn(name, password)
                self.keys = try self.place.deviceKeys()
                self.isSignedIn = self.client != nil
            } catch PushClientError.unauthorized {
                self.advice = "The name or the password is wrong."
            }
        }
    }

    func signOut() async {
        guard let client = self.client else { return }
        self.end()
        await self.attempt { try await self.place.signOut(client) }
    }

    func markRead(_ item: NotificationItem) async {
        guard let client = self.client else { return }
        await self.attempt {
            try await client.outbox.markRead(item.id, !item.isRead)
            try await self.tell(client)
        }
    }

    func dismiss(_ item: NotificationItem) async {
        guard let client = self.client else { return }
        await self.attempt {
            try await client.outbox.dismiss(item.id)
            try await self.tell(client)
        }
    }

    /// Opens the message of a tapped notification. A read-once payload is fetched only now. If the
    /// screen can show it, the server then erases it.
    func open(_ push: PushMessage) async {
        guard let client = self.client, client.isRecipient(of: push) else { return }
        await self.attempt {
            let item = try await client.notification(push.id).value
            try await self.openPayloads(of: [item], client)
            self.opened = item
            if item.isReadOnce {
                // The server then erases the message, so the screen must show it.
                guard self.text(of: item) != nil else { return }
                return try await client.confirmTaken(item.id)
            }
            try await client.outbox.markRead(item.id)
            try await self.tell(client)
        }
    }

    func close() { self.opened = nil }

    // MARK: - Devices

    /// The fingerprint of this device's keys; `nil` without end-to-end encryption.
    var fingerprint: String? { self.keys?.key.fingerprint }

    func loadDevices() async {
        guard let client = self.client else { return }
        await self.attempt {
            self.otherDevices = try await client.devices().filter {
                !$0.isThisDevice && $0.key != nil && $0.key?.account == self.keys?.key.account
            }
        }
    }

    /// Whether the server lists an approval of a device by this device.
    func hasApproved(_ device: PushClient.Device) -> Bool {
        guard let text = device.key?.text, let keys = self.keys else { return false }
        return text.contains(keys.key.id)
    }

    /// Approves another device, so that backends encrypt for it. The user has compared its
    /// fingerprint with its screen: this function approves the keys that were shown.
    func approve(_ device: PushClient.Device) async {
        guard let client = self.client, let keys = self.keys, let key = device.key else { return }
        await self.attempt { try await client.setDeviceKey(keys.approve(key), of: device.id) }
        if self.advice == nil { await self.loadDevices() }
    }

    // MARK: - Private

    private func register() async {
        guard let client = self.client, let deviceToken = self.deviceToken else { return }
        await self.attempt {
            do {
                try await client.registerIfNeeded(platform: "apns", handle: deviceToken)
            } catch PushClientError.keyReplaced {
                // Backends encrypt for this device again, and the advice tells the user.
                if let keys = self.keys { try await client.setDeviceKey(keys.key) }
                throw PushClientError.keyReplaced
            }
        }
    }

    /// Shows the cached messages with the date of the last sync.
    private func show(_ client: PushClient) async throws {
        let inbox = try await client.cachedInbox(limit: self.limit)
        self.present(inbox)
        if self.age != .upToDate { self.age = inbox.syncedAt.map(Age.asOf) ?? .notLoaded }
        try await self.openPayloads(of: inbox.notifications, client)
    }

    /// Opens end-to-end payloads that are not open yet. For the others the screen shows its
    /// placeholder.
    private func openPayloads(of items: [NotificationItem], _ client: PushClient) async throws {
        guard let keys = self.keys else { return }
        let closed = items.filter { self.texts[$0.id] == nil }
        guard !closed.isEmpty else { return }
        let results = try await client.openPayloads(of: closed, with: keys, from: self.place.senders)
        // The user may have signed out meanwhile.
        guard self.keys?.key == keys.key else { return }
        for (item, result) in zip(closed, results) { self.texts[item.id] = (try? result.get())?.payload.text }
    }

    /// Shows the inbox as if the outbox's tasks were done, then sends them. If that fails, the
    /// next sync sends them.
    private func tell(_ client: PushClient) async throws {
        try await self.show(client)
        try await client.outbox.flush()
    }

    private func present(_ inbox: Inbox) {
        // The screen shows the newest message first.
        self.notifications = inbox.notifications.reversed()
        self.hasOlder = inbox.hasMore
        self.onChange(inbox.unreadCount, Set(inbox.deleted + inbox.notifications.filter(\.isRead).map(\.id)))
    }

    private func attempt(_ action: () async throws -> Void) async {
        do {
            self.advice = nil
            try await action()
        } catch {
            self.fail(error)
        }
    }

    private func fail(_ error: any Error) {
        // A cancelled call needs no advice.
        guard let advice = PushClient.Advice(for: error) else { return }
        if advice == .signIn {
            // Without a client, the user has signed out on purpose.
            guard self.client != nil else { return }
            self.end()
        }
        self.advice = advice.text
    }

    private func end() {
        (self.client, self.keys) = (nil, nil)
        self.isSignedIn = false
        self.onChange(0, Set(self.notifications.map(\.id)))
        self.notifications = []
        self.opened = nil
        (self.texts, self.otherDevices) = ([:], [])
        self.age = .notLoaded
    }
}
