import Foundation
import Observation
import PushAPI
import PushClient

/// What the screens show, and what their buttons do. It knows nothing of Apple's systems, and is
/// tested on Linux.
@MainActor @Observable final class InboxModel {
    /// How old what is shown is.
    enum Age: Equatable {
        case notLoaded
        case upToDate
        case asOf(Date)
    }

    private(set) var isSignedIn = false
    private(set) var notifications: [NotificationItem] = []
    private(set) var age = Age.notLoaded
    /// What the user can do about the call that failed last, or had to show what is kept.
    private(set) var advice: String?

    private let place: Place
    private var client: PushClient?
    /// What the system has given, which may come before anybody is signed in.
    private var deviceToken: String?

    init(_ place: Place) {
        self.place = place
        // Before the first unlock after a start there is no keychain: then the page for signing in
        // would be wrong, too, and the system starts no app's screens.
        self.client = try? place.client()
        self.isSignedIn = self.client != nil
    }

    /// Shows what is kept, then what the server says, then each change, until the task ends.
    func run() async {
        // What it fails with is nothing for the user: the next start tries again.
        async let signOuts: Void? = try? self.place.finishSignOuts()
        guard let client = self.client else {
            _ = await signOuts
            return
        }
        await self.attempt { self.show(try await client.kept()) }
        await self.refresh()
        await self.register()
        do {
            for try await _ in client.updates() { self.show(try await client.kept()) }
        } catch {
            self.fail(error)
        }
    }

    func refresh() async {
        guard let client = self.client else { return }
        await self.attempt {
            let inbox = try await client.refresh()
            self.notifications = Self.shown(inbox.value)
            self.age = inbox.date.map(Age.asOf) ?? .upToDate
            self.advice = inbox.reason?.advice.text
        }
    }

    /// With the token that the system gives at each start.
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

    // MARK: - Private

    private func register() async {
        guard let client = self.client, let deviceToken = self.deviceToken else { return }
        await self.attempt { try await client.refresh(platform: "apns", handle: deviceToken) }
    }

    /// What is kept, as of when it was last complete.
    private func show(_ inbox: Inbox) {
        self.notifications = Self.shown(inbox)
        if self.age != .upToDate { self.age = inbox.completeAt.map(Age.asOf) ?? .notLoaded }
    }

    /// Shows as done what was put into the outbox, then tells the server, now or with the next
    /// refresh.
    private func tell(_ client: PushClient) async throws {
        self.show(try await client.kept())
        try await client.outbox.flush()
    }

    /// The newest first.
    private static func shown(_ inbox: Inbox) -> [NotificationItem] { inbox.notifications.reversed() }

    private func attempt(_ action: () async throws -> Void) async {
        do {
            self.advice = nil
            try await action()
        } catch {
            self.fail(error)
        }
    }

    private func fail(_ error: any Error) {
        // None of a call that was cancelled.
        guard let advice = PushClient.Advice(for: error) else { return }
        if advice == .signedOut {
            // The user wanted it so, if there is no client any more.
            guard self.client != nil else { return }
            self.end()
        }
        self.advice = advice.text
    }

    private func end() {
        self.client = nil
        self.isSignedIn = false
        self.notifications = []
        self.age = .notLoaded
    }
}
