internal import Foundation
public import PushAPI

extension PushClient {
    /// The kept inbox, at once and without network: show it, then ``refresh()``.
    ///
    /// Its ``Inbox/arrived`` and ``Inbox/deleted`` are what the next refresh will tell, what an
    /// extension has fetched included. Throws ``PushClientError/signedOut`` alone, except where a
    /// store is changed all the time.
    public func kept() async throws -> Inbox {
        await self.inbox.prepare()
        return try await self.inbox.inbox(now: self.now()).inbox
    }

    /// A kept notification with its payload; `nil` if there is none. Without network.
    public func kept(_ id: Int64) async throws -> NotificationItem? {
        try await self.inbox.shown(id, now: self.now())
    }

    /// Tells the server what waits in the ``outbox``, then fetches all changes since the last
    /// time: one request for up to 500 notifications, and further ones for more.
    ///
    /// What the server cannot do now of what waits, such as a task that it answers 500 or 429,
    /// waits on; the changes are fetched. When nothing is new, the answer is one 304. When the
    /// network fails or interferes, the inbox is the kept one, if it was ever complete. Two calls
    /// at the same time, also of two processes, do not harm each other. What one call has told as
    /// ``Inbox/arrived`` and ``Inbox/deleted`` the next does not tell again; if a call throws, the
    /// next one tells it.
    public func refresh() async throws -> Fetched<Inbox> {
        await self.inbox.prepare()
        var refresh = Refresh(self.inbox, app: self.app, now: self.now())
        do {
            return .fresh(try await CallDeadline.within(self.deadline) { try await self.collect(&refresh) })
        } catch {
            guard let reason = CacheReason(error) else { throw error }
            let (inbox, changes) = try await self.inbox.inbox(instead: refresh.unkept, now: refresh.now)
            guard let date = inbox.completeAt else { throw error }
            try await self.inbox.take(changes)
            return .cached(inbox, date, because: reason)
        }
    }

    private func collect(_ refresh: inout Refresh) async throws -> Inbox {
        try await self.outbox.flushIfPossible()
        // Twice, if the file of a notification was lost, which is found when all are read.
        for _ in 0..<2 {
            try await refresh.run(self.api)
            let (inbox, changes) = try await self.inbox.inbox(instead: refresh.unkept, now: refresh.now)
            if inbox.completeAt == nil { continue }
            try await self.inbox.take(changes)
            return inbox
        }
        throw Account.Busy()
    }

    /// The same as ``refresh()``, under its name of before.
    public func sync() async throws -> Fetched<Inbox> { try await self.refresh() }

    // MARK: - Changes

    /// What has changed since the consumer of that name has confirmed changes, by whichever
    /// process of the app.
    ///
    /// The first time it is everything. Nothing is lost between pages or in a crash: it is told
    /// again until ``confirm(_:)``. A store remembers the marks of 16 consumers, those that
    /// confirmed last.
    ///
    /// ```swift
    /// let changes = try await client.changes(for: "search")
    /// try index.update(changes.arrived, removing: changes.deleted)
    /// try await client.confirm(changes)
    /// ```
    public func changes(for consumer: String) async throws -> InboxChanges {
        try await self.inbox.changes(since: nil, consumer: consumer)
    }

    /// Remembers that a consumer has taken these changes. Those of ``updates(every:)`` need no
    /// confirmation.
    public func confirm(_ changes: InboxChanges) async throws {
        if changes.consumer.isEmpty { return }
        try await self.inbox.take(changes)
    }

    /// The changes from now on, those of the app's extensions included, until the task is
    /// cancelled or the account is signed out.
    ///
    /// A change by this client comes at once, one by another process within the interval: a
    /// suspended process asks for nothing, and there is no lock that it could hold.
    ///
    /// ```swift
    /// for try await _ in client.updates() { list = try await client.kept().notifications }
    /// ```
    public func updates(every interval: Duration = .seconds(1)) -> InboxUpdates {
        InboxUpdates(inbox: self.inbox, interval: interval)
    }
}
