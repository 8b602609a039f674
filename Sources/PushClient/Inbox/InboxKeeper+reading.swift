internal import Foundation
internal import PushAPI

extension InboxKeeper {
    /// A cached notification with its payload and the date of its last confirmation; `nil` if the
    /// notification is not cached, or has expired by the device's clock.
    func item(_ id: Int64, now: Date) throws -> (cached: CachedItem, date: Date)? {
        for _ in 0..<Account.attempts {
            let snapshot = try self.read()
            guard let name = snapshot.index.name(of: id) else { return nil }
            if let cached = try PushClientError.storing({ try self.account.item(name) }) {
                guard cached.item.payload != nil, cached.item.expiresAt > now else { return nil }
                let dates = [snapshot.index.syncedAt, self.confirmedDate(of: name)].compactMap { $0 }
                return (cached, dates.reduce(cached.date, max))
            }
            // Another process may have replaced the file; the loop then tries again. If no process
            // has replaced it, the file is damaged.
            if self.account.latest == snapshot.commit { return nil }
        }
        throw PushClientError.busyStore
    }

    func changes(since mark: Int64?, consumer: String) throws -> InboxChanges {
        let snapshot = try self.read()
        return InboxChanges(snapshot, since: mark ?? snapshot.index.mark(of: consumer), consumer: consumer)
    }

    /// A page of the inbox as the app sees it now: the newest `limit` notifications that are older
    /// than `before`. The items in `unstored`, whose payloads must not be stored, replace the
    /// cached items.
    func inbox(
        instead unstored: [Int64: NotificationItem] = [:],
        limit: Int = .max,
        before: NotificationItem? = nil,
        now: Date
    ) throws -> (inbox: Inbox, changes: InboxChanges) {
        for _ in 0..<Account.attempts {
            guard let (snapshot, all) = try self.list() else { continue }
            let pending = snapshot.index.pending
            func isVisible(_ facts: ItemFacts) -> Bool {
                facts.expiresAt > now && (pending.isEmpty || pending[facts.name.id] != .dismiss)
            }
            let visible = all.filter(isVisible)
            let older = before.map { all[..<Self.place(of: $0, in: all)].filter(isVisible) } ?? visible
            let page = older.suffix(max(0, limit))
            guard let items = try self.items(page, unstored, snapshot) else { continue }
            let mark = snapshot.index.mark(of: Self.syncConsumer)
            let changes = InboxChanges(snapshot, since: mark, consumer: Self.syncConsumer)
            let arrived = changes.arrived.isEmpty ? [] : changes.arrived.intersection(visible.map(\.name.id))
            let inbox = Inbox(
                notifications: items,
                arrived: arrived.sorted(),
                deleted: changes.deleted.sorted(),
                syncedAt: snapshot.index.syncedAt,
                count: visible.count,
                unreadCount: visible.count { !$0.isRead(after: pending[$0.name.id]) },
                hasMore: page.count < older.count
            )
            return (inbox, changes)
        }
        throw PushClientError.busyStore
    }

    /// The ids of unread notifications, with the outbox's tasks applied; `nil` if not all
    /// notifications are cached, or a file is lost.
    ///
    /// This function has one payload at a time in memory.
    func unread(now: Date) throws -> [Int64]? {
        for _ in 0..<Account.attempts {
            let snapshot = try self.read()
            guard snapshot.index.syncedAt != nil else { return nil }
            let lost = try self.load(snapshot)
            guard lost.isEmpty else {
                // Another process may have replaced the file meanwhile.
                if self.account.latest == snapshot.commit { return nil }
                continue
            }
            let pending = snapshot.index.pending
            return self.listed.facts.filter {
                let task = pending[$0.name.id]
                return task != .dismiss && !$0.isRead(after: task) && $0.expiresAt > now
            }.map(\.name.id)
        }
        throw PushClientError.busyStore
    }

    /// A cached notification with the outbox's tasks applied.
    func visible(_ id: Int64, now: Date) throws -> NotificationItem? {
        try self.item(id, now: now).flatMap { try self.withTasks($0.cached.item) }
    }

    /// A notification with the outbox's tasks applied; `nil` if it was dismissed.
    func withTasks(_ item: NotificationItem) throws -> NotificationItem? {
        let pending = try self.read().index.pending[item.id]
        return pending == .dismiss ? nil : item.after(pending)
    }

    /// The facts of all cached items in the inbox's order; `nil` if a file is lost.
    private func list() throws -> (Account.Snapshot, [ItemFacts])? {
        let snapshot = try self.read()
        let lost = try self.load(snapshot)
        guard lost.isEmpty else {
            try self.drop(lost, at: snapshot)
            return nil
        }
        return (snapshot, self.listed.facts)
    }

    /// Reads the files that other clients have written since the last call; returns the names of
    /// files that are lost.
    private func load(_ snapshot: Account.Snapshot) throws -> [EntryName] {
        let version = ItemList.Version(snapshot)
        if self.listed.version == version { return [] }
        let stored = self.listed.facts + self.account.takeWritten()
        let known = Dictionary(stored.map { ($0.name, $0) }) { first, _ in first }
        let names = snapshot.index.names
        var (facts, lost) = (names.compactMap { known[$0] }, [EntryName]())
        try self.read(names.filter { known[$0] == nil }) { name, cached in
            if let cached { facts.append(ItemFacts(name, cached)) } else { lost.append(name) }
        }
        self.listed = ItemList(version: lost.isEmpty ? version : nil, facts: facts.sorted { $0.place < $1.place })
        return lost
    }

    /// Reads the payloads of a page; `nil` if a file is lost.
    private func items(
        _ page: ArraySlice<ItemFacts>,
        _ unstored: [Int64: NotificationItem],
        _ snapshot: Account.Snapshot
    ) throws -> [NotificationItem]? {
        var (items, lost) = (unstored, [EntryName]())
        try self.read(page.map(\.name).filter { unstored[$0.id] == nil }) { name, cached in
            if let cached { items[name.id] = cached.item } else { lost.append(name) }
        }
        guard lost.isEmpty else {
            self.listed = ItemList()
            try self.drop(lost, at: snapshot)
            return nil
        }
        let pending = snapshot.index.pending
        return page.compactMap { items[$0.name.id]?.after(pending[$0.name.id]) }
    }

    /// Drops the items whose files are lost, and the cursor of the sync, so that the next sync
    /// fetches everything.
    private func drop(_ lost: [EntryName], at snapshot: Account.Snapshot) throws {
        // Another process may have replaced the files during the read. If no process has replaced
        // them, the files are damaged.
        guard self.account.latest == snapshot.commit else { return }
        try PushClientError.storing {
            try self.account.change { draft in
                for name in lost where draft.index.name(of: name.id) == name {
                    draft.drop(name.id)
                    draft.index.cursor = nil
                    draft.index.syncedAt = nil
                }
            }
        }
    }

    private func read(_ names: [EntryName], _ use: (EntryName, CachedItem?) -> Void) throws {
        try PushClientError.storing { try self.account.items(names, use) }
    }

    /// The index of a notification in the list. If the notification is gone, the index that it
    /// would have.
    private static func place(of item: NotificationItem, in list: [ItemFacts]) -> Int {
        list.firstIndex { $0.name.id == item.id } ?? list.firstIndex { $0.createdAt > item.createdAt } ?? list.count
    }
}

extension NotificationItem {
    /// The item after a task has been carried out.
    func after(_ task: OutboxTask.Kind?) -> NotificationItem {
        switch task {
        case .read: self.read(true)
        case .unread: self.read(false)
        case .dismiss, .send, nil: self
        }
    }
}
