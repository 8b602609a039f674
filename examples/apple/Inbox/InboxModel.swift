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
    /// Shows the number of unread messages on the icon, and removes notifications of messages that
    /// are read or gone.
    @ObservationIgnored var onChange: (_ unread: Int, _ gone: Set<Int64>) -> Void = { _, _ in }

    private let place: Place
    private var client: PushClient?
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
        await self.attempt { self.show(try await client.cachedInbox(limit: self.limit)) }
        await self.sync()
        await self.register()
        do {
            for try await _ in client.updates() { self.show(try await client.cachedInbox(limit: self.limit)) }
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
        }
    }

    /// Shows 100 more messages.
    func showOlder() async {
        guard let client = self.client else { return }
        self.limit += 100
        await self.attempt { self.show(try await client.cachedInbox(limit: self.limit)) }
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

    /// Opens the message of a tapped notification. A read-once payload is fetched only now, and the
    /// server then erases it.
    func open(_ push: PushMessage) async {
        guard let client = self.client, client.isRecipient(of: push) else { return }
        await self.attempt {
            let item = try await client.notification(push.id).value
            self.opened = item
            if item.isReadOnce { return try await client.confirmTaken(item.id) }
            try await client.outbox.markRead(item.id)
            try await self.tell(client)
        }
    }

    func close() { self.opened = nil }

    // MARK: - Private

    private func register() async {
        guard let client = self.client, let deviceToken = self.deviceToken else { return }
        await self.attempt { try await client.registerIfNeeded(platform: "apns", handle: deviceToken) }
    }

    /// Shows the cached messages with the date of the last sync.
    private func show(_ inbox: Inbox) {
        self.present(inbox)
        if self.age != .upToDate { self.age = inbox.syncedAt.map(Age.asOf) ?? .notLoaded }
    }

    /// Shows the inbox as if the outbox's tasks were done, then sends them. If that fails, the
    /// next sync sends them.
    private func tell(_ client: PushClient) async throws {
        self.show(try await client.cachedInbox(limit: self.limit))
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
        self.client = nil
        self.isSignedIn = false
        self.onChange(0, Set(self.notifications.map(\.id)))
        self.notifications = []
        self.opened = nil
        self.age = .notLoaded
    }
}
