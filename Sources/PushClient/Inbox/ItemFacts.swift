internal import Foundation
internal import PushAPI

/// The facts about one cached item for lists and badges, without the item's payload.
///
/// The file of an item never changes, so its facts stay right.
struct ItemFacts: Sendable {
    let name: EntryName
    let isRead: Bool
    let createdAt: Date
    let expiresAt: Date
    private let order: Int64

    init(_ name: EntryName, _ cached: CachedItem) {
        self.name = name
        self.isRead = cached.item.isRead
        self.createdAt = cached.item.createdAt
        self.expiresAt = cached.item.expiresAt
        self.order = cached.order ?? .max
    }

    /// The sort key: older items come first, and within one second the order is that of the
    /// server's list.
    var place: (Date, Int64, Int64) { (self.createdAt, self.order, self.name.id) }

    func isRead(after task: OutboxTask.Kind?) -> Bool {
        switch task {
        case .read: true
        case .unread: false
        case .dismiss, .send, nil: self.isRead
        }
    }
}

/// The facts of the items of one commit, in the inbox's order.
struct ItemList: Sendable {
    /// The commit that the facts belong to; `nil` if a file could not be read.
    var version: Version?
    var facts: [ItemFacts] = []

    /// Identifies a commit. A store that was created again can have a commit with the same number,
    /// but with another name.
    struct Version: Sendable, Equatable {
        let commit: Int64
        let name: UInt64?

        init(_ snapshot: Account.Snapshot) {
            (self.commit, self.name) = (snapshot.commit, snapshot.index.history.first)
        }
    }
}
