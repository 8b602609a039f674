internal import Synchronization

/// The changes that a user's other devices must show. They stay here until `LookService` has
/// enqueued a look for each device: a push that tells the device to sync. Any thread may use this
/// object.
///
/// A change costs an entry in memory, which is merged with other changes of the same user and app.
/// So a user who marks hundreds of notifications causes one write. A crash loses the latest
/// entries, but not the changes: the devices find them at their next sync. Recalls are not here,
/// since the store records which looks for them are missing.
package final class LookBook: Sendable {
    private struct Session: Hashable {
        let subject: LookOrder.Subject
        let session: String
    }

    private struct State {
        var orders: [LookOrder.Subject: LookOrder] = [:]
        var syncs: [Session: Int64] = [:]
    }

    /// Set as long as the book has entries, and after a recall.
    package let signal = Signal()
    private let limit: Int
    private let state = Mutex(State())

    /// If there are already `limit` orders or sessions, a further entry is dropped.
    package init(limit: Int = 50_000) {
        self.limit = limit
    }

    /// Records a change of a user's notifications.
    package func record(_ order: LookOrder) {
        self.add { state in
            if let known = state.orders[order.subject] {
                state.orders[order.subject] = known.merged(with: order)
            } else if state.orders.count < self.limit {
                state.orders[order.subject] = order
            }
        }
    }

    /// Records that a session has fetched all changes of its user in an app, up to a change
    /// number.
    package func record(_ sync: LookSync) {
        self.add { state in
            let key = Session(subject: sync.subject, session: sync.session)
            guard state.syncs[key] != nil || state.syncs.count < self.limit else { return }
            state.syncs[key] = max(state.syncs[key] ?? .min, sync.change)
        }
    }

    /// Removes and returns all entries.
    package func take() -> (orders: [LookOrder], syncs: [LookSync]) {
        let state = self.state.withLock { state in
            defer { state = State() }
            return state
        }
        let orders = state.orders.values.sorted { ($0.user, $0.subject.app) < ($1.user, $1.subject.app) }
        let syncs = state.syncs.map { key, change in
            LookSync(user: key.subject.user, app: key.subject.app, session: key.session, change: change)
        }
        return (orders, syncs)
    }

    private func add(_ body: (inout State) -> Void) {
        self.state.withLock { body(&$0) }
        self.signal.set()
    }
}
