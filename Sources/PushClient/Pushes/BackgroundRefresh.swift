internal import Foundation

/// The work of an app that the system wakes in the background: syncs all accounts within the
/// available time.
///
/// ```swift
/// WindowGroup { ContentView() }
///     .backgroundTask(.appRefresh("example.refresh")) {
///         try? BackgroundRefresh.schedule("example.refresh")  // the user may have switched it off
///         _ = await BackgroundRefresh(clients: { Shared.clients }).run()
///     }
/// ```
public struct BackgroundRefresh: Sendable {
    /// The outcome that the system asks for.
    public enum Outcome: Sendable, Hashable {
        /// A notification has arrived or was deleted.
        case newData
        /// Nothing is new.
        case noData
        /// No account's server could be reached.
        case failed
    }

    private let clients: @Sendable () -> [PushClient]
    private let limit: Duration

    /// `clients` are the clients of the accounts that are signed in; `limit` is a little less than
    /// the 30 seconds that the system allows.
    public init(clients: @escaping @Sendable () -> [PushClient], limit: Duration = .seconds(25)) {
        self.clients = clients
        self.limit = limit
    }

    /// Refreshes all accounts at once. It never takes longer than the limit; the results stored by
    /// then stay.
    public func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            let clients = self.clients()
            for client in clients { group.addTask { await Self.sync(client) } }
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
            if outcomes.contains(.newData) { return .newData }
            return outcomes.contains(.noData) || clients.isEmpty ? .noData : .failed
        }
    }

    // MARK: - Private

    private static func sync(_ client: PushClient) async -> Outcome {
        // The app can find the reason when the user opens it.
        guard case .fresh(let inbox)? = try? await client.sync(limit: 0) else { return .failed }
        return inbox.arrived.isEmpty && inbox.deleted.isEmpty ? .noData : .newData
    }
}
