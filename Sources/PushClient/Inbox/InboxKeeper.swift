internal import Foundation
internal import PushAPI

/// The cached inbox of one account, which other processes may change at the same time.
///
/// It is an actor, so that the calls of one process change it one after the other. Between calls
/// the keeper has about seventy bytes for each notification in memory, and no payloads.
actor InboxKeeper {
    /// The name of the consumer whose changes ``Inbox/arrived`` and ``Inbox/deleted`` list;
    /// ``InboxChanges`` explains consumers.
    static let syncConsumer = "sealpost.refresh"

    nonisolated let account: Account
    /// Says whose data the store has; `nil` in tests of the keeper alone.
    private let own: OwnAccount?
    /// When the server last confirmed the content of each file, as far as this process knows.
    private var confirmed: [EntryName: Date] = [:]
    /// The `ItemFacts` of all cached items, as `load` found them in its last call.
    var listed = ItemList()
    private var isSwept = false
    private var bells: [Int: AsyncStream<Void>.Continuation] = [:]
    private var nextBell = 0

    init(_ account: Account, _ own: OwnAccount? = nil) {
        self.account = account
        self.own = own
    }

    /// Adopts the values that earlier versions of this library stored, and removes leftover files.
    /// Calls that read or sync the whole inbox first call this function.
    func prepare() {
        self.account.returnToFiles()
        self.account.adoptEarlier()
        guard !self.isSwept else { return }
        // Leftovers that cannot be removed stay until another process sweeps, or the app starts
        // again.
        try? self.account.sweep()
        self.isSwept = true
    }

    /// Reads the state; throws `PushClientError.signedOut`. An unreadable account counts as empty,
    /// and so does one that the client's credentials may not belong to.
    func read() throws -> Account.Snapshot {
        do {
            return self.ownPart(of: try self.account.read())
        } catch let error as PushClientError {
            throw error
        } catch {
            return self.ownPart(of: try PushClientError.storing { try self.account.readInMemory() })
        }
    }

    func ownPart(of snapshot: Account.Snapshot) -> Account.Snapshot {
        let index = snapshot.index
        if self.own?.owns(index) != false { return snapshot }
        return Account.Snapshot(commit: snapshot.commit, index: .empty(index.proof, epoch: index.epoch, after: 0))
    }

    // MARK: - Changes

    /// Merges a page that was requested when the inbox was in the given state. Returns `false`,
    /// and changes nothing, if another call has moved the cursor meanwhile.
    func merge(
        _ page: InboxPage,
        requestedAt before: Account.Snapshot,
        isRestart: Bool,
        serverTime: Date?,
        now: Date
    ) throws -> Bool {
        try self.change { draft in
            guard draft.index.cursor == before.index.cursor else { return false }
            draft.merge(page, requestedAt: before.commit, isRestart: isRestart, serverTime: serverTime, now: now)
            return true
        }
    }

    /// Records that the server has no changes after the cursor.
    func confirm(_ cursor: String, serverTime: Date?, now: Date) throws {
        try self.change { draft in
            guard draft.index.cursor == cursor else { return }
            draft.index.syncedAt = now
            draft.expire(serverTime)
        }
    }

    /// Caches a fetched notification, unless a newer state was stored since the request began.
    func take(_ cached: CachedItem, requestedAt before: Int64, serverTime: Date?) throws {
        let id = cached.item.id
        let name: EntryName? = try self.change { draft in
            if let serverTime, cached.item.expiresAt <= serverTime { return nil }
            guard draft.isUntouched(id, since: before) else { return nil }
            // If the content is unchanged, only the date is new, which is no change for the app.
            let earlier = draft.item(id)
            if earlier?.item == cached.item { return draft.index.name(of: id) }
            draft.put(CachedItem(cached.item, tag: cached.tag, date: cached.date, order: earlier?.order))
            return nil
        }
        if let name { self.confirm(name, cached.date) }
    }

    /// Marks the cached notifications as read or unread, except those of which a newer state was
    /// stored since the request began.
    func mark(_ ids: [Int64], read isRead: Bool, requestedAt before: Int64) throws {
        try self.change { draft in
            for id in ids where draft.isUntouched(id, since: before) {
                guard let cached = draft.item(id), cached.item.isRead != isRead else { continue }
                draft.put(cached.with(cached.item.read(isRead)))
            }
        }
    }

    func remove(_ ids: [Int64]) throws {
        try self.change { draft in for id in ids { draft.remove(id) } }
    }

    /// Records opened messages with their notifications, and refuses a message that has arrived
    /// with another notification before.
    func admit(_ results: [OpeningResult], of ids: [Int64]) throws -> [OpeningResult] {
        try self.change { $0.admit(results, of: ids) }
    }

    func take(_ changes: InboxChanges) throws {
        try self.change { $0.index.take(changes) }
    }

    /// Signs the account out; returns the sign-out order if the store could not write the order.
    /// Throws `PushClientError.signedOut` if the client's sign-in has ended already.
    func end(_ order: @Sendable (StoredRegistration?) -> SignOutOrder) throws -> SignOutOrder? {
        defer { self.ring() }
        return try self.account.end(order)
    }

    func confirmedDate(of name: EntryName) -> Date? { self.confirmed[name] }

    /// Records that the server has confirmed the content of a file.
    func confirm(_ name: EntryName, _ date: Date) {
        if self.confirmed.count >= 100 { self.confirmed = [:] }
        self.confirmed[name] = date
    }

    private func change<Result>(_ change: (inout AccountDraft) -> Result) throws -> Result {
        defer { self.ring() }
        return try PushClientError.storing { try self.account.change(change) }
    }

    // MARK: - Waiting

    func ring() {
        for bell in self.bells.values { bell.yield() }
    }

    /// Returns after a change by this process, or after the interval. After the interval, the
    /// caller looks for changes by other processes.
    ///
    /// The system may extend the interval by half, to wake the processor once for several timers.
    func waitForChange(after commit: Int64, atMost interval: Duration) async throws {
        guard self.account.latest == commit else { return }
        let (stream, bell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = self.nextBell
        self.nextBell += 1
        self.bells[number] = bell
        defer { self.bells[number] = nil }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in stream { return } }
            group.addTask { try await Task.sleep(for: interval, tolerance: interval / 2) }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
    }
}
