internal import Foundation

/// The work of an app that the system wakes in the background: syncs all accounts within the
/// available time.
///
/// On Apple's systems it then sets the badge, and removes shown notifications that are no longer
/// unread: they were read, dismissed or recalled, or have expired. Run this work also for each
/// background push.
///
/// ```swift
/// WindowGroup { ContentView() }
///     .backgroundTask(.appRefresh("example.refresh")) {
///         try? BackgroundRefresh.schedule("example.refresh")  // the user may have switched it off
///         _ = await BackgroundRefresh(clients: { Shared.clients }).run()
///     }
/// ```
public struct BackgroundRefresh: Sendable {
    /// The outcome of the work, which the app reports to the system.
    public enum Outcome: Sendable, Hashable {
        /// At least one notification has arrived or was deleted.
        case newData
        /// Nothing is new.
        case noData
        /// No account's server could be reached.
        case failed
    }

    private let clients: @Sendable () -> [PushClient]
    private let limit: Duration
    private let shown: ShownNotifications?

    /// `clients` are the clients of the accounts that are signed in; `limit` is a little less than
    /// the 30 seconds that the system allows.
    public init(clients: @escaping @Sendable () -> [PushClient], limit: Duration = .seconds(25)) {
        self.init(clients: clients, limit: limit, shown: .system)
    }

    /// `shown` represents the system's notification centre; `nil` if the system has none.
    package init(
        clients: @escaping @Sendable () -> [PushClient],
        limit: Duration = .seconds(25),
        shown: ShownNotifications?
    ) {
        self.clients = clients
        self.limit = limit
        self.shown = shown
    }

    /// Refreshes all accounts at the same time. The call never takes longer than the limit.
    /// Changes that were stored within the limit stay.
    public func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            let clients = self.clients()
            // The shown notifications are listed before the sync. A notification that is shown
            // only after the sync would be unknown, and would be removed.
            let shown = await self.shown?.all() ?? []
            for client in clients {
                let own = shown.filter { client.isRecipient(of: $0.push, among: clients) }
                group.addTask { await self.sync(client, shown: own) }
            }
            group.addTask {
                // The group cancels this sleep when all accounts are done.
                try? await Task.sleep(for: self.limit)
                return nil
            }
            defer { group.cancelAll() }
            var outcomes: [Outcome] = []
            while outcomes.count < clients.count, case .some(.some(let outcome)) = await group.next() {
                outcomes.append(outcome)
            }
            if outcomes.contains(where: { $0 != .failed }) { await self.setBadge(clients) }
            if outcomes.contains(.newData) { return .newData }
            return outcomes.contains(.noData) || clients.isEmpty ? .noData : .failed
        }
    }

    // MARK: - Private

    private func sync(_ client: PushClient, shown: [ShownNotifications.Entry]) async -> Outcome {
        // The reason of a failure is not needed: when the user opens the app, the app syncs again.
        guard case .fresh(let inbox)? = try? await client.sync(limit: 0) else { return .failed }
        // Without the list of unread notifications nothing is removed, since any shown
        // notification may be unread.
        if !shown.isEmpty, let unread = try? await client.inbox.unread(now: client.now()) {
            let gone = shown.filter { !unread.contains($0.push.id) }
            if !gone.isEmpty { await self.shown?.remove(gone.map(\.identifier)) }
        }
        return inbox.arrived.isEmpty && inbox.deleted.isEmpty ? .noData : .newData
    }

    private func setBadge(_ clients: [PushClient]) async {
        guard let shown else { return }
        var count = 0
        for client in clients {
            // If the number of unread notifications of one account is unknown, the icon stays
            // unchanged.
            guard let badge = await client.cachedBadge() else { return }
            count += badge
        }
        await shown.setBadge(count)
    }
}

/// The notifications that the system shows, and the badge of the app's icon.
package struct ShownNotifications: Sendable {
    package struct Entry: Sendable, Hashable {
        /// The system's identifier of the shown notification.
        package let identifier: String
        package let push: PushMessage

        package init(identifier: String, push: PushMessage) {
            self.identifier = identifier
            self.push = push
        }
    }

    /// Returns the shown notifications that come from pushes of the server.
    let all: @Sendable () async -> [Entry]
    let remove: @Sendable (_ identifiers: [String]) async -> Void
    let setBadge: @Sendable (Int) async -> Void

    package init(
        all: @escaping @Sendable () async -> [Entry],
        remove: @escaping @Sendable (_ identifiers: [String]) async -> Void,
        setBadge: @escaping @Sendable (Int) async -> Void
    ) {
        self.all = all
        self.remove = remove
        self.setBadge = setBadge
    }

    #if !canImport(UserNotifications) || os(tvOS)
        static var system: ShownNotifications? { nil }
    #endif
}

extension PushClient {
    /// Whether a push is for this client; `clients` are all clients of the app.
    fileprivate func isRecipient(of push: PushMessage, among clients: [PushClient]) -> Bool {
        push.accountHint == nil ? clients.count == 1 : self.isRecipient(of: push)
    }
}
