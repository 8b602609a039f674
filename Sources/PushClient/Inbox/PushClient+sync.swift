internal import Foundation
public import PushAPI

extension PushClient {
    /// Returns a page of the cached inbox immediately, without network: show it, then call
    /// ``sync(limit:)``.
    ///
    /// The page has the newest `limit` notifications, or the newest `limit` of those older than
    /// `before`. The call reads no other payloads from the disk.
    ///
    /// ```swift
    /// let newest = try await client.cachedInbox(limit: 50)
    /// let older = try await client.cachedInbox(limit: 50, before: newest.notifications.first)
    /// ```
    /// ``Inbox/arrived`` and ``Inbox/deleted`` list the changes that the next sync will report,
    /// including changes that extensions have made. The call throws ``PushClientError/signedOut``
    /// and ``PushClientError/storage(_:)``.
    public func cachedInbox(limit: Int = 500, before: NotificationItem? = nil) async throws -> Inbox {
        await self.inbox.prepare()
        return try await self.inbox.inbox(limit: limit, before: before, now: self.now()).inbox
    }

    /// A cached notification with its payload; `nil` if the notification is not cached. The call
    /// needs no network.
    public func cachedNotification(_ id: Int64) async throws -> NotificationItem? {
        try await self.inbox.visible(id, now: self.now())
    }

    /// Sends the tasks of the ``outbox``, then fetches all changes since the last sync: up to 500
    /// notifications in each request.
    ///
    /// If the server cannot carry out a task now, for example because it answers 500 or 429, the
    /// task waits, and the client still fetches the changes. If nothing is new, the server answers
    /// with 304. If the network fails or changes answers, or the server cannot answer now, the
    /// result is the cached inbox; if the cached inbox was never complete, the call throws.
    /// Concurrent calls, even in two processes, do not harm each other. A change in
    /// ``Inbox/arrived`` or ``Inbox/deleted`` is reported by one call only; if that call throws,
    /// the next call reports it.
    ///
    /// The result has the newest `limit` notifications of the inbox.
    public func sync(limit: Int = 500) async throws -> Fetched<Inbox> {
        await self.inbox.prepare()
        var sync = Sync(self.inbox, app: self.app, keyQuery: self.keyQuery, now: self.now())
        do {
            return .fresh(try await CallDeadline.within(self.deadline) { try await self.run(&sync, limit) })
        } catch {
            guard let failure = FetchFailure(error) else { throw error }
            let (inbox, changes) = try await self.inbox.inbox(instead: sync.unstored, limit: limit, now: sync.now)
            guard let date = inbox.syncedAt else { throw error }
            try await self.inbox.take(changes)
            return .cached(inbox, date, because: failure)
        }
    }

    private func run(_ sync: inout Sync, _ limit: Int) async throws -> Inbox {
        try await self.outbox.flushIfPossible()
        // If the first pass finds that the file of a notification is lost, a second pass fetches
        // the inbox again.
        for _ in 0..<2 {
            try await sync.run(self.api)
            let (inbox, changes) = try await self.inbox.inbox(instead: sync.unstored, limit: limit, now: sync.now)
            if inbox.syncedAt == nil { continue }
            try await self.inbox.take(changes)
            return inbox
        }
        throw PushClientError.busyStore
    }

    // MARK: - Changes

    /// What any process of the app has changed in the inbox since the consumer's last
    /// confirmation. The app chooses the consumer's name.
    ///
    /// The first call for a consumer reports everything. Later calls report changes again until
    /// ``confirm(_:)``, so no change is lost in a crash. A store remembers the 16 consumers with
    /// the latest confirmations.
    ///
    /// ```swift
    /// let changes = try await client.changes(for: "search")
    /// try index.update(changes.arrived, removing: changes.deleted)
    /// try await client.confirm(changes)
    /// ```
    public func changes(for consumer: String) async throws -> InboxChanges {
        // Changes that leave out another account's data would be confirmed like complete ones.
        try await self.api.checkOwner()
        return try await self.inbox.changes(since: nil, consumer: consumer)
    }

    /// Records that a consumer has processed these changes. Changes of ``updates(every:)`` need no
    /// confirmation.
    public func confirm(_ changes: InboxChanges) async throws {
        if changes.consumer.isEmpty { return }
        try await self.inbox.take(changes)
    }

    /// The changes from now on, including those by the app's extensions, until the task is
    /// cancelled. The sequence throws ``PushClientError/signedOut`` if nobody is signed in, and
    /// when the account is signed out.
    ///
    /// Changes by this client arrive immediately. For changes by another process, the client lists
    /// one folder after each interval, and opens no file. It does not use file-system events: they
    /// need an open folder, which a sign-out may remove, and Dispatch lacks them on Linux. To save
    /// energy, the system may extend the interval by half.
    /// A suspended process gets no changes. It holds no lock, so other processes do not wait for
    /// it.
    ///
    /// ```swift
    /// for try await _ in client.updates() { list = try await client.cachedInbox().notifications }
    /// ```
    public func updates(every interval: Duration = .seconds(1)) -> InboxUpdates {
        InboxUpdates(client: self, interval: interval)
    }
}
