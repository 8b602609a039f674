internal import Foundation
internal import PushAPI

/// The next state of an account, before it is committed.
struct AccountDraft {
    /// The maximum number of bytes of an index before encryption. Encryption with AES-GCM adds 28
    /// bytes, a nonce and a tag.
    static let maximumIndex = 65_536 - 28
    static let maximumDeletions = 500
    static let maximumMarks = 16

    let commit: Int64
    var index: AccountIndex
    /// The new items and the contents of their files.
    private(set) var fresh: [Int64: (cached: CachedItem, bytes: Data)] = [:]
    /// The new payloads that wait to be sent, by the keys of their tasks.
    var payloads: [UUID: Data] = [:]
    /// The new content of the file of opened messages; `nil` if it stays the same.
    var messages: Data?
    private let read: (EntryName) -> Data?

    init(basedOn snapshot: Account.Snapshot, read: @escaping (EntryName) -> Data?) {
        self.commit = snapshot.commit + 1
        self.index = snapshot.index
        self.read = read
    }

    /// An item with this draft's changes; `nil` if it is missing or unreadable.
    func item(_ id: Int64) -> CachedItem? {
        self.fresh[id]?.cached ?? self.index.name(of: id).flatMap(self.read).flatMap(CachedItem.init(bytes:))
    }

    /// The content of a file; `nil` if it is missing or unreadable.
    func content(_ name: EntryName) -> Data? { self.read(name) }

    mutating func put(_ cached: CachedItem) {
        let id = cached.item.id
        let bytes = cached.bytes
        self.fresh[id] = (cached, bytes)
        self.index.entries[id] = AccountIndex.Entry(cached, bytes.count, commit: self.commit)
        self.index.deletions[id] = nil
    }

    /// Deletes an item and records the deletion. An unknown item's deletion is recorded, too,
    /// because its push may be on the screen.
    mutating func remove(_ id: Int64) {
        self.drop(id)
        self.index.deletions[id] = self.commit
    }

    /// Removes an item without recording a deletion.
    mutating func drop(_ id: Int64) {
        self.fresh[id] = nil
        self.index.entries[id] = nil
    }

    /// Whether an item has not changed since a commit. If so, the answer to a request made at that
    /// commit is newer than the cached state.
    func isUntouched(_ id: Int64, since commit: Int64) -> Bool {
        max(
            self.index.entries[id]?.commit ?? 0,
            self.index.deletions[id] ?? 0,
            self.index.forgottenUpTo,
            self.index.restartedAt
        ) <= commit
    }

    /// Drops everything except the sign-outs that the server does not know yet.
    mutating func dropAll() {
        var index = AccountIndex.empty(self.index.proof, epoch: self.index.epoch, after: self.commit)
        index.history = self.index.history
        index.signOuts = self.index.signOuts
        self.index = index
        self.fresh = [:]
        self.messages = nil
    }

    /// Ends the account and stores the sign-out order.
    mutating func end(_ order: (StoredRegistration?) -> SignOutOrder, atMost maximum: Int) {
        let order = order(self.index.registration)
        self.dropAll()
        self.index.isEnded = true
        self.index.signOuts = self.index.signOuts.suffix(maximum - 1) + [order]
    }

    // MARK: - Pages

    /// Merges a page that was requested at the commit `before`.
    mutating func merge(_ page: InboxPage, requestedAt before: Int64, isRestart: Bool, serverTime: Date?, now: Date) {
        let cached = Set(self.index.entries.keys)
        if isRestart {
            let new = Set(page.items.map(\.item.id))
            for id in cached where !new.contains(id) { self.remove(id) }
            self.index.restartedAt = self.commit
            // Before the last page, the cached inbox is a mixture of old and new states.
            self.index.syncedAt = nil
        }
        for (place, item) in page.items.map(\.cached).enumerated() {
            // An item that was dismissed during the request stays deleted.
            if let deleted = self.index.deletions[item.id], deleted > before, deleted < self.commit { continue }
            // An expired item that was never cached needs no deletion.
            if let serverTime, item.expiresAt <= serverTime, !cached.contains(item.id) { continue }
            // A changed item keeps its place.
            let order = self.item(item.id)?.order ?? self.order(of: item.id, at: place)
            self.put(CachedItem(item, date: now, order: order))
        }
        for id in page.deleted { self.remove(id) }
        self.index.cursor = page.cursor
        if !page.hasMore { self.index.syncedAt = now }
        self.expire(serverTime)
    }

    /// A number for an item's place in the order of all pages. A page has up to 500 items.
    private func order(of id: Int64, at place: Int) -> Int64 {
        let (place, restart) = (Int64(min(place, 511)), self.index.restartedAt)
        guard restart > 0, restart < self.commit, self.index.deletions[id] == restart else {
            return self.commit &<< 20 | place
        }
        // The restart had removed this item, and a later page contains it again. So it is older
        // than the new items.
        return (restart - 1) &<< 20 | 1 << 19 | min(self.commit - restart, 1023) << 9 | place
    }

    /// Deletes the items that have expired by the server's time. The device's clock is not used,
    /// because it may be wrong.
    mutating func expire(_ serverTime: Date?) {
        guard let serverTime else { return }
        let hour = AccountIndex.hour(of: serverTime)
        for (id, entry) in self.index.entries where entry.expiryHour <= hour {
            // The exact time is in the item. An unreadable item is deleted only in the next hour.
            guard entry.expiryHour < hour || self.item(id).map({ $0.item.expiresAt <= serverTime }) == true else {
                continue
            }
            self.remove(id)
        }
    }

    // MARK: - Limits

    /// Shrinks the state to its limits.
    mutating func finish(_ limits: StoreLimits) {
        self.shrink(limits)
        self.forgetDeletions(besides: Self.maximumDeletions)
        self.index.marks.removeFirst(max(0, self.index.marks.count - Self.maximumMarks))
        while self.index.bytes(self.commit).count + 16 > Self.maximumIndex, !self.index.entries.isEmpty {
            if !self.index.deletions.isEmpty {
                self.forgetDeletions(besides: self.index.deletions.count / 2)
            } else {
                for id in self.oldest().prefix(self.index.entries.count / 32 + 1) { self.drop(id) }
                self.index.forgottenUpTo = self.commit
            }
        }
    }

    private mutating func shrink(_ limits: StoreLimits) {
        let excess = self.index.entries.count - limits.entries
        if excess > 0 { for id in self.oldest().prefix(excess) { self.remove(id) } }
        var bytes = self.index.entries.values.reduce(0) { $0 + Int($1.units) * 256 }
        guard bytes > limits.bytes else { return }
        for id in self.oldest() where bytes > limits.bytes {
            guard let old = self.index.entries[id], let cached = self.item(id), cached.item.payload != nil else {
                continue
            }
            self.put(cached.with(cached.item.withoutPayload))
            bytes -= (Int(old.units) - Int(self.index.entries[id]?.units ?? 0)) * 256
        }
    }

    /// The ids of the items, least recently changed first.
    private func oldest() -> [Int64] {
        self.index.entries.sorted {
            ($0.value.commit, $0.value.expiryHour, $0.key) < ($1.value.commit, $1.value.expiryHour, $1.key)
        }.map(\.key)
    }

    private mutating func forgetDeletions(besides count: Int) {
        guard self.index.deletions.count > count else { return }
        let oldest = self.index.deletions.sorted { $0.value < $1.value }.dropLast(count)
        for (id, commit) in oldest {
            self.index.deletions[id] = nil
            self.index.forgottenUpTo = max(self.index.forgottenUpTo, commit)
        }
    }
}

extension AccountIndex {
    /// Hours since 1970; the largest value stands for all later hours.
    static func hour(of date: Date) -> UInt32 {
        let hour = (date.timeIntervalSince1970 / 3600).rounded(.down)
        return hour < 0 ? 0 : hour >= Double(UInt32.max) ? .max : UInt32(hour)
    }
}

extension AccountIndex.Entry {
    /// Creates an entry whose nonce is 0. The entry gets its nonce when its file is written.
    init(_ cached: CachedItem, _ size: Int, commit: Int64) {
        self.init(
            commit: commit,
            nonce: 0,
            expiryHour: AccountIndex.hour(of: cached.item.expiresAt),
            units: UInt16(clamping: (size + 255) / 256)
        )
    }
}
