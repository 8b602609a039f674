/// What any process of the app has changed in the cached inbox since a consumer's last
/// confirmation. A consumer is a part of the app, such as a search index, that reads the changes.
///
/// The changes contain ids and no payloads: `PushClient.cachedNotification(_:)` returns each
/// notification.
public struct InboxChanges: Sendable, Hashable {
    /// The ids of notifications that are new or changed.
    public let arrived: Set<Int64>
    /// The ids of notifications that were dismissed or recalled, or have expired: stop showing
    /// them.
    public let deleted: Set<Int64>
    /// Whether ``arrived`` lists the whole inbox: the consumer's last confirmation is so old that
    /// some later deletions are no longer known, or the store was created again. If so, remove
    /// from the consumer's data all notifications that ``arrived`` does not list.
    public let isEverything: Bool
    let consumer: String
    /// The last commit that the changes include.
    package let upTo: Int64

    /// Whether nothing has changed.
    public var isEmpty: Bool { self.arrived.isEmpty && self.deleted.isEmpty && !self.isEverything }

    init(_ snapshot: Account.Snapshot, since mark: Int64, consumer: String) {
        let index = snapshot.index
        // If the latest commit is before the confirmed one, the store was created again, and the
        // consumer has not seen the commits of the new store.
        let isAnew = snapshot.commit < mark
        // If older deletions are unknown, only the full list shows which notifications are gone.
        self.isEverything = isAnew || index.forgottenUpTo > mark
        let since = self.isEverything ? -1 : mark
        self.arrived = Set(index.entries.lazy.filter { $0.value.commit > since }.map(\.key))
        self.deleted = Set(index.deletions.lazy.filter { $0.value > (isAnew ? 0 : mark) }.map(\.key))
        self.consumer = consumer
        self.upTo = snapshot.commit
    }
}

extension AccountIndex {
    /// The last commit whose changes a consumer has confirmed; 0 the first time.
    func mark(of consumer: String) -> Int64 { self.marks.first { $0.consumer == consumer }?.commit ?? 0 }

    mutating func take(_ changes: InboxChanges) {
        guard self.mark(of: changes.consumer) < changes.upTo else { return }
        self.marks.removeAll { $0.consumer == changes.consumer }
        self.marks.append(Mark(consumer: changes.consumer, commit: changes.upTo))
    }
}
