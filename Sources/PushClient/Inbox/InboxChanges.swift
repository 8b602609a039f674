/// What has changed in the kept inbox since a consumer's mark, by whichever process of the app.
///
/// Ids, not payloads: `PushClient.kept(_:)` has each one.
public struct InboxChanges: Sendable, Hashable {
    /// The ids of those that are new or changed.
    public let arrived: Set<Int64>
    /// The ids of those that were dismissed or recalled, or have expired: stop showing them.
    public let deleted: Set<Int64>
    /// Whether the mark is so old that not all deletions are known, or the store was set up anew
    /// since: ``arrived`` is all that is there, and what is shown besides has gone.
    public let isEverything: Bool
    let consumer: String
    /// The commit that they end with.
    package let upTo: Int64

    /// Whether nothing has changed.
    public var isEmpty: Bool { self.arrived.isEmpty && self.deleted.isEmpty && !self.isEverything }

    init(_ snapshot: Account.Snapshot, since mark: Int64, consumer: String) {
        let index = snapshot.index
        // A store that was set up anew counts from 1 again, and nothing of it was told.
        let isAnew = snapshot.commit < mark
        // Where deletions of that time are no longer known, only all that is there tells what is
        // not.
        self.isEverything = isAnew || index.forgottenUpTo > mark
        let since = self.isEverything ? -1 : mark
        self.arrived = Set(index.entries.lazy.filter { $0.value.commit > since }.map(\.key))
        self.deleted = Set(index.deletions.lazy.filter { $0.value > (isAnew ? 0 : mark) }.map(\.key))
        self.consumer = consumer
        self.upTo = snapshot.commit
    }
}

extension AccountIndex {
    /// The commit up to which a consumer has taken the changes; 0 the first time.
    func mark(of consumer: String) -> Int64 { self.marks.first { $0.consumer == consumer }?.commit ?? 0 }

    mutating func take(_ changes: InboxChanges) {
        guard self.mark(of: changes.consumer) < changes.upTo else { return }
        self.marks.removeAll { $0.consumer == changes.consumer }
        self.marks.append(Mark(consumer: changes.consumer, commit: changes.upTo))
    }
}
