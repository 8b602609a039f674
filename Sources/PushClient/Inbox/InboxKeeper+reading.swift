internal import Foundation
internal import PushAPI

extension InboxKeeper {
    /// A cached notification with its payload and the date of its last confirmation; `nil` if
    /// there is none, or it has expired by the device's clock.
    func item(_ id: Int64, now: Date) throws -> (cached: CachedItem, date: Date)? {
        for _ in 0..<Account.attempts {
            let snapshot = try self.read()
            guard let name = snapshot.index.name(of: id) else { return nil }
            if let cached = try self.account.item(name) {
                guard cached.item.payload != nil, cached.item.expiresAt > now else { return nil }
                let dates = [snapshot.index.syncedAt, self.confirmedDate(of: name)].compactMap { $0 }
                return (cached, dates.reduce(cached.date, max))
            }
            // Another process may have replaced the file. If none has, the file is damaged.
            if self.account.latest == snapshot.commit { return nil }
        }
        throw PushClientError.busyStore
    }

    func changes(since mark: Int64?, consumer: String) throws -> InboxChanges {
        let snapshot = try self.read()
        return InboxChanges(snapshot, since: mark ?? snapshot.index.mark(of: consumer), consumer: consumer)
    }

    /// The inbox as the app sees it now. `unstored` has the payloads that must not be stored, in
    /// place of the cached items.
    func inbox(instead unstored: [Int64: NotificationItem] = [:], now: Date) throws -> (
        inbox: Inbox, changes: InboxChanges
    ) {
        let (snapshot, items) = try self.items()
        let pending = snapshot.index.pending
        let visible = items.sorted { $0.place < $1.place }.map(\.item)
            .map { (unstored[$0.id] ?? $0).after(pending[$0.id]) }
            .filter { $0.expiresAt > now && pending[$0.id] != .dismiss }
        let mark = snapshot.index.mark(of: Self.syncConsumer)
        let changes = InboxChanges(snapshot, since: mark, consumer: Self.syncConsumer)
        let inbox = Inbox(
            notifications: visible,
            arrived: changes.arrived.intersection(visible.map(\.id)).sorted(),
            deleted: changes.deleted.sorted(),
            syncedAt: snapshot.index.syncedAt
        )
        return (inbox, changes)
    }

    /// The number of unread notifications, with the outbox's tasks applied; `nil` if not all are
    /// cached, or a file is lost.
    ///
    /// It holds one payload at a time in memory.
    func unreadCount(now: Date) throws -> Int? {
        for _ in 0..<Account.attempts {
            let snapshot = try self.read()
            guard snapshot.index.syncedAt != nil else { return nil }
            var (count, isLost) = (0, false)
            for name in snapshot.index.names {
                guard let item = try self.account.item(name)?.item else {
                    isLost = true
                    break
                }
                let pending = snapshot.index.pending[item.id]
                if pending != .dismiss, !item.after(pending).isRead, item.expiresAt > now { count += 1 }
            }
            if !isLost { return count }
            // Another process may have replaced the file meanwhile.
            if self.account.latest == snapshot.commit { return nil }
        }
        throw PushClientError.busyStore
    }

    /// A cached notification with the outbox's tasks applied.
    func visible(_ id: Int64, now: Date) throws -> NotificationItem? {
        let pending = try self.read().index.pending[id]
        return pending == .dismiss ? nil : try self.item(id, now: now)?.cached.item.after(pending)
    }

    /// Reads all cached items. Drops items whose file is lost, and the cursor with them, so that
    /// the next sync fetches everything.
    private func items() throws -> (Account.Snapshot, [CachedItem]) {
        var read: [EntryName: CachedItem] = [:]
        for _ in 0..<Account.attempts {
            let snapshot = try self.read()
            let names = snapshot.index.names
            var lost: [EntryName] = []
            for name in names where read[name] == nil {
                if let cached = try self.account.item(name) { read[name] = cached } else { lost.append(name) }
            }
            if lost.isEmpty { return (snapshot, names.compactMap { read[$0] }) }
            // Another process may have replaced the files during the read. If none has, they are
            // damaged.
            guard self.account.latest == snapshot.commit else { continue }
            try self.account.change { draft in
                for name in lost where draft.index.name(of: name.id) == name {
                    draft.drop(name.id)
                    draft.index.cursor = nil
                    draft.index.syncedAt = nil
                }
            }
        }
        throw PushClientError.busyStore
    }
}

extension CachedItem {
    /// Sorts the oldest first, and within a second as the server's list has them.
    fileprivate var place: (Date, Int64, Int64) { (self.item.createdAt, self.order ?? .max, self.item.id) }
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
