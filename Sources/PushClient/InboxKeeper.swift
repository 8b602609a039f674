internal import Foundation

/// Changes the kept inbox, one change at a time.
///
/// Each change reads the kept inbox and writes it whole. No change suspends in the middle, so that two concurrent
/// `sync()` calls cannot mix. If an extension's process shares the folder, one of two consistent states remains.
actor InboxKeeper {
    private let records: Records
    /// A state that could not be written; it replaces the one in the store.
    private var unwritten: InboxState?

    init(_ records: Records) {
        self.records = records
    }

    /// The kept inbox, or an empty one dated in the distant past.
    var state: InboxState {
        self.unwritten ?? self.records.inbox ?? InboxState(cursor: nil, date: .distantPast)
    }

    /// The state without expired notifications, and the ids that it had before.
    func begin(now: Date) -> (state: InboxState, before: Set<Int64>) {
        var state = self.state
        let before = Set(state.entries.keys)
        state.expire(now)
        if state.entries.count < before.count { self.write(state) }
        return (state, before)
    }

    /// Which part of the inbox a page replaces.
    enum Extent {
        /// Older states of the page's own items.
        case older
        /// Everything: the page is the first after a restart from the beginning.
        case everything
    }

    /// Merges a page. Returns `nil`, and changes nothing, if another call has moved the cursor meanwhile.
    func take(_ page: InboxPage, inPlaceOf extent: Extent, after cursor: String?, now: Date) -> InboxState? {
        var state = self.state
        guard state.cursor == cursor else { return nil }
        if extent == .everything { state.entries = [:] }
        state.merge(page, now: now)
        self.write(state)
        return state
    }

    func change(_ change: @Sendable (inout InboxState) -> Void) {
        var state = self.state
        // Before the first page there is nothing to change.
        guard state.cursor != nil else { return }
        change(&state)
        self.write(state)
    }

    /// Records that nothing follows the cursor.
    func confirm(_ cursor: String, now: Date) {
        self.records.keep(Confirmation(cursor: cursor, date: now))
    }

    /// When the state was last known to be right.
    func date(of state: InboxState) -> Date {
        guard let confirmation = self.records.confirmation, confirmation.cursor == state.cursor else {
            return state.date
        }
        return max(confirmation.date, state.date)
    }

    func forget() {
        self.unwritten = nil
    }

    private func write(_ state: InboxState) {
        self.unwritten = self.records.keep(state) ? nil : state
    }
}
