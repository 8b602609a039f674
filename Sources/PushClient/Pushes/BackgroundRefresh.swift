internal import Foundation

/// What an app does when the system wakes it in the background: collects for all accounts, within
/// the time that it has.
///
/// ```swift
/// WindowGroup { ContentView() }
///     .backgroundTask(.appRefresh("example.refresh")) {
///         try? BackgroundRefresh.schedule("example.refresh")  // the user may have switched it off
///         _ = await BackgroundRefresh(clients: { Shared.clients }).run()
///     }
/// ```
public struct BackgroundRefresh: Sendable {
    /// What the system wants to know.
    public enum Outcome: Sendable, Hashable {
        /// Something has arrived or gone.
        case newData
        /// Nothing is new.
        case noData
        /// No account's server could be asked.
        case failed
    }

    private let clients: @Sendable () -> [PushClient]
    private let limit: Duration

    /// `clients` are those of the accounts that are signed in; `limit` is a little less than the
    /// 30 seconds that the system gives.
    public init(clients: @escaping @Sendable () -> [PushClient], limit: Duration = .seconds(25)) {
        self.clients = clients
        self.limit = limit
    }

    /// Collects for all accounts at once. Never takes longer than the limit; what was stored by
    /// then stays.
    public func run() async -> Outcome {
        await withTaskGroup(of: Outcome?.self) { group in
            let clients = self.clients()
            for client in clients { group.addTask { await Self.refresh(client) } }
            group.addTask {
                // Cancelled when all accounts are done.
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

    private static func refresh(_ client: PushClient) async -> Outcome {
        // Why it failed is the app's to find out when it is opened.
        guard case .fresh(let inbox)? = try? await client.refresh() else { return .failed }
        return inbox.arrived.isEmpty && inbox.deleted.isEmpty ? .noData : .newData
    }
}
