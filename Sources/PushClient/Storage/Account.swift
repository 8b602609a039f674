internal import Foundation

/// The stored state of one account, changed by one commit after the other.
///
/// A commit writes its new entries to files, several to a file if it has many. Then, in one step,
/// it creates its index, which names these entries, under the next number. If another process has
/// used that number first, this step fails, and the change is repeated on the newer index. After a
/// successful step, the commit removes the entries that only the old index names. So:
///
/// - After a crash at any point, either the index before the commit or the index after it is
///   complete. There may be files that no index names; ``sweep()`` removes them.
/// - A commit never removes an entry that an index names or will name: a client that has not seen
///   the newest index cannot commit.
/// - There is no lock, so a process may be suspended at any point.
final class Account: Sendable {
    /// The state after a commit. Before the first commit, the number is 0.
    struct Snapshot: Sendable {
        let commit: Int64
        let index: AccountIndex
    }

    /// Thrown if each attempt failed because another client had changed the account.
    struct Busy: Error {}

    private struct State {
        /// The number of the sign-in that this client belongs to; `nil` until the index could be
        /// read.
        var epoch: UInt32?
        /// The account id that this client's app knows; `nil` if the app knows none.
        var owner: String?
        /// The latest commit seen so far.
        var seen: Int64 = 0
        /// The changes in memory while the files cannot be written.
        var overlay: OverlayStore?
        /// The facts of entries that this client has written since the last call of
        /// ``takeWritten()``, at most as many as the index has entries.
        var written: [Int64: ItemFacts] = [:]
        /// Whether this client has signed out, even if the sign-out could not be stored.
        var isEnded = false
    }

    static let attempts = 500
    /// The number of latest commits whose indexes stay stored. A reader may have found the latest
    /// number just before the next commit, and then still reads that index.
    static let storedIndexes: Int64 = 4

    let name: String
    let proof: AccountIndex.Proof
    let folder: AccountFolder
    let limits: StoreLimits
    let files: any EntryStore
    private let state = Locked(State())

    init(_ files: any EntryStore, name: String, proof: AccountIndex.Proof, limits: StoreLimits = StoreLimits()) {
        self.files = files
        self.name = name
        self.proof = proof
        self.folder = files.folder(of: name)
        self.limits = limits
        // Binds this client to the current sign-in. If the index cannot be read yet, the first
        // successful read binds it.
        _ = try? self.read()
    }

    /// Opens an account by its folder, without its name, to carry out its sign-outs.
    init(_ files: any EntryStore, folder: AccountFolder) {
        self.files = files
        self.name = ""
        self.proof = .echoed
        self.folder = folder
        self.limits = StoreLimits()
    }

    /// The files, or the overlay in memory while the files cannot be written.
    var store: any EntryStore { self.state.withLock { $0.overlay } ?? self.files }

    // MARK: - Reading

    /// The facts of entries that this client has written since the last call. A list needs no
    /// reads of their files.
    func takeWritten() -> [ItemFacts] {
        self.state.withLock { state in
            defer { state.written = [:] }
            return Array(state.written.values)
        }
    }

    func note(_ written: [ItemFacts], in index: AccountIndex) {
        self.state.withLock { state in
            for facts in written { state.written[facts.name.id] = facts }
            // A process that shows pushes, and reads no list, never calls `takeWritten()`.
            guard state.written.count > index.entries.count else { return }
            state.written = state.written.filter { index.entries[$0.key] != nil }
        }
    }

    /// The state after the latest commit. Throws `PushClientError.signedOut` if the account was
    /// signed out.
    func read() throws -> Snapshot { try self.read(self.store) }

    /// A cached notification; `nil` if its file is missing or damaged. Throws if the file cannot
    /// be read now.
    func item(_ name: EntryName) throws -> CachedItem? {
        try self.store.readEntry(name, in: self.folder).flatMap(CachedItem.init(bytes:))
    }

    /// Passes each of the cached notifications to `use`, one after the other in any order, as
    /// `item(_:)` returns it.
    func items(_ names: [EntryName], _ use: (EntryName, CachedItem?) -> Void) throws {
        try self.store.readEntries(names, in: self.folder) { use($0, $1.flatMap(CachedItem.init(bytes:))) }
    }

    /// The number of the latest commit, for readers that wait for the next one.
    var latest: Int64 {
        // Unreadable files count as no new commit.
        (try? self.store.commits(in: self.folder).max()) ?? 0
    }

    func read(_ store: any EntryStore) throws -> Snapshot {
        if self.state.withLock({ $0.isEnded }) { throw PushClientError.signedOut }
        let (commit, stored) = try self.newest(store)
        let epoch = self.epoch(seeing: stored, at: commit, store)
        guard let stored else {
            return Snapshot(commit: commit, index: .empty(self.proof, epoch: epoch, after: commit))
        }
        if stored.isEnded {
            guard stored.epoch &+ 1 == epoch else { throw PushClientError.signedOut }
            return Snapshot(commit: commit, index: stored.restarted(self.proof, after: commit))
        }
        guard stored.epoch == epoch, self.isOwn(stored) else { throw PushClientError.signedOut }
        let index = stored.proof == self.proof ? stored : stored.withoutEntries(self.proof, after: commit)
        return Snapshot(commit: commit, index: index)
    }

    /// The number of the sign-in that this client belongs to: the first number that the client has
    /// read from the files.
    private func epoch(seeing stored: AccountIndex?, at commit: Int64, _ store: any EntryStore) -> UInt32 {
        self.state.withLock { state in
            if store is OverlayStore { return stored?.epoch ?? state.epoch ?? 0 }
            if let epoch = state.epoch { return epoch }
            let epoch = stored.map { $0.isEnded ? $0.epoch &+ 1 : $0.epoch } ?? 0
            // A damaged index does not say which sign-in it belongs to.
            if stored != nil || commit == 0 { state.epoch = epoch }
            return epoch
        }
    }

    /// The latest stored index, no matter which sign-in it belongs to; `nil` if no index is
    /// readable.
    func newest(_ store: any EntryStore) throws -> (commit: Int64, index: AccountIndex?) {
        for attempt in 0..<Self.attempts {
            let commits = try store.commits(in: self.folder)
            let commit = commits.max() ?? 0
            let isEarlier = self.state.withLock { state in
                // A listing during a change may miss files. If, after three attempts, the latest
                // commit is still below one that was seen before, the folder was removed.
                if commit < state.seen, attempt < 3 { return true }
                state.seen = commit
                return false
            }
            if isEarlier { continue }
            if commit == 0 { return (0, nil) }
            switch try store.readIndex(commit, in: self.folder) {
            case .gone: continue
            case .value(let bytes): if let index = AccountIndex(bytes: bytes, commit) { return (commit, index) }
            case .damaged: break
            }
            return (commit, try self.earlier(than: commit, of: commits, store))
        }
        throw Busy()
    }

    /// If the latest index is damaged, takes the registration and other state of the device from
    /// an older index. The notifications are fetched again.
    private func earlier(than commit: Int64, of commits: [Int64], _ store: any EntryStore) throws -> AccountIndex? {
        for other in commits.filter({ $0 < commit }).sorted(by: >) {
            guard case .value(let bytes) = try store.readIndex(other, in: self.folder),
                let index = AccountIndex(bytes: bytes, other)
            else { continue }
            return index.isEnded ? index : index.withoutEntries(index.proof, after: commit)
        }
        return nil
    }

    private func isOwn(_ stored: AccountIndex) -> Bool {
        let owner = self.state.withLock { $0.owner }
        return owner == nil || stored.account == nil || stored.account == owner
    }

    // MARK: - Changes

    /// Applies a change to the latest state and retries until it is committed; commits nothing if
    /// the state stays the same. If the files cannot be written, this and later changes stay in
    /// memory.
    func change<Result>(_ change: (inout AccountDraft) -> Result) throws -> Result {
        do {
            return try self.change(self.store, change)
        } catch let error as PushClientError {
            throw error
        } catch let error as Busy {
            throw error
        } catch {
            return try self.change(self.overlay(), change)
        }
    }

    /// Reads the state from the overlay, because the files cannot be read now. From here on the
    /// state is in memory.
    func readInMemory() throws -> Snapshot { try self.read(self.overlay()) }

    private func overlay() -> OverlayStore {
        self.state.withLock { state in
            let overlay = state.overlay ?? OverlayStore(self.files, self.folder)
            state.overlay = overlay
            return overlay
        }
    }

    /// Applies a change like `change(_:)`, but throws if the files cannot be written.
    func changeFiles<Result>(_ change: (inout AccountDraft) -> Result) throws -> Result {
        try self.change(self.files, change)
    }

    /// Returns to the files if they can be written again. Changes that were only in memory are
    /// fetched again.
    func returnToFiles() {
        guard self.state.withLock({ $0.overlay != nil }), let snapshot = try? self.read(self.files) else { return }
        // This commit of an unchanged state tests whether the files can be written.
        let draft = AccountDraft(basedOn: snapshot) { _ in nil }
        guard (try? self.commit(draft, basedOn: snapshot, self.files)) != nil else { return }
        self.dropOverlay()
    }

    /// Binds this client to the account that its app knows. If the store has another account's
    /// data, this client begins the next sign-in.
    func bind(to id: String) {
        // If the sign-in cannot be stored, this client's calls throw `signedOut`.
        if let stored = try? self.read().index.account, stored != id { try? self.begin(as: id) }
        self.state.withLock { $0.owner = id }
    }

    /// Begins a session of an account. Drops the data of another account with this name, and signs
    /// its other clients out. `token` is the digest of the session's token, if there is one.
    func begin(as id: String, token: Data? = nil) throws {
        self.state.withLock { $0.owner = nil }
        defer { self.state.withLock { $0.owner = id } }
        let epoch = try self.change { draft in
            if draft.index.account.map({ $0 != id }) == true {
                draft.dropAll()
                draft.index.epoch &+= 1
            }
            draft.index.account = id
            if let token { draft.index.add(token: token) }
            return draft.index.epoch
        }
        self.state.withLock { $0.epoch = epoch }
    }

    /// The number of the sign-in that this client belongs to.
    var epoch: UInt32 { self.state.withLock { $0.epoch ?? 0 } }

    /// From here on this client stores nothing. Returns `false` if it has signed out before.
    @discardableResult
    func markEnded() -> Bool {
        self.state.withLock { state in
            defer { state.isEnded = true }
            return !state.isEnded
        }
    }

    func dropOverlay() {
        self.state.withLock { $0.overlay = nil }
    }

    /// Removes files that crashes have left behind.
    ///
    /// The sweep first makes a commit of its own. So unfinished commits of other processes fail:
    /// their files may be among those that the sweep removes.
    func sweep() throws {
        let store = self.store
        let snapshot = try self.read(store)
        let names = snapshot.index.files
        let leftovers = store.leftovers(in: self.folder)
        guard !leftovers.isSubset(of: store.files(of: names, in: self.folder)) else { return }
        let draft = AccountDraft(basedOn: snapshot) { _ in nil }
        guard try self.commit(draft, basedOn: snapshot, store) else { return }
        store.removeLeftovers(leftovers, except: names, in: self.folder)
    }

    private func change<Result>(
        _ store: any EntryStore,
        _ change: (inout AccountDraft) -> Result
    ) throws -> Result {
        for _ in 0..<Self.attempts {
            let snapshot = try self.read(store)
            var draft = AccountDraft(basedOn: snapshot) { name in
                // An unreadable entry counts as missing for this change.
                try? store.readEntry(name, in: self.folder)
            }
            let result = change(&draft)
            if draft.index == snapshot.index { return result }
            if !draft.index.isEnded { draft.index.account = draft.index.account ?? self.state.withLock { $0.owner } }
            draft.finish(self.limits)
            if try self.commit(draft, basedOn: snapshot, store) { return result }
        }
        throw Busy()
    }
}
