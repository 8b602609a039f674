internal import Foundation
internal import PushAPI

/// The progress of one sync, and its changes for the app.
struct SyncProgress {
    /// Where the next page begins.
    enum Start {
        case cursor
        /// The server did not know the cursor.
        case beginning
        /// After a page of this sync. If the server does not know that page's cursor, a restart could repeat for ever.
        case afterBeginning
    }

    let now: Date
    /// The inbox with all pages so far.
    private(set) var state: InboxState
    var start = Start.cursor
    /// The ids that the inbox had before.
    private let before: Set<Int64>
    private var arrived: Set<Int64> = []
    private var named: Set<Int64> = []
    /// Items that must not be kept, and are shown this once.
    private var unkept: [Int64: NotificationItem] = [:]

    init(_ state: InboxState, before: Set<Int64>, now: Date) {
        self.state = state
        self.before = before
        self.now = now
    }

    /// The cursor to ask with; `nil`: from the beginning.
    var cursor: String? { self.start == .beginning ? nil : self.state.cursor }

    /// Continues from a state that another call has reached.
    mutating func goOn(from state: InboxState) {
        self.state = state
        self.start = .cursor
    }

    /// Adds a page that was merged into the inbox.
    mutating func add(_ page: InboxPage, merged state: InboxState) {
        for item in page.items {
            self.arrived.insert(item.item.id)
            self.unkept[item.item.id] = item.isKept ? nil : item.item
        }
        self.named.formUnion(page.deleted)
        self.state = state
        self.start = .afterBeginning
    }

    /// The inbox as the app sees it.
    func inbox(_ state: InboxState) -> Inbox {
        var state = state
        state.expire(self.now)
        let present = Set(state.entries.keys)
        return Inbox(
            notifications: state.items(instead: self.unkept),
            arrived: self.arrived.intersection(present).sorted(),
            deleted: self.before.union(self.named).subtracting(present).sorted()
        )
    }
}
