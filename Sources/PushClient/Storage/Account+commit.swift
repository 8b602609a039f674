internal import Foundation

extension Account {
    /// The maximum number of boxes of a commit. A box's nonce is one of 128, and chosen at random.
    /// A page of 500 notifications has 31 boxes.
    private static let maximumBoxes = 64

    /// Returns `false`, and changes nothing, if another client's commit has replaced `snapshot`
    /// first.
    func commit(_ draft: AccountDraft, basedOn snapshot: Snapshot, _ store: any EntryStore) throws -> Bool {
        var index = draft.index
        let name = UInt64.random(in: 0 ... .max)
        index.history = [name] + index.history.prefix(31)
        var created: [EntryName] = []
        do {
            // Entries that are neighbours in the list probably expire together, too.
            var rest = draft.fresh.sorted { $0.value.cached.order ?? 0 < $1.value.cached.order ?? 0 }[...]
            while let (id, new) = rest.first {
                let isBoxed = store.boxSize > 1 && rest.count >= store.boxSize && created.count < Self.maximumBoxes
                let names =
                    isBoxed
                    ? try self.createBox(rest.prefix(store.boxSize), at: draft.commit, store)
                    : [try self.create(new.bytes, store) { EntryName(id: id, commit: draft.commit, nonce: $0) }]
                rest = rest.dropFirst(names.count)
                created += Set(names.map { $0.box ?? $0 })
                for name in names { index.entries[name.id]?.nonce = name.nonce }
            }
            for (place, task) in index.outbox.enumerated() {
                guard let bytes = draft.payloads[task.key] else { continue }
                let name = try self.create(bytes, store, .nowhereElse) { EntryName(payloadOf: draft.commit, nonce: $0) }
                created.append(name)
                index.outbox[place].payload = name
            }
            if let messages = draft.messages {
                let name = try self.create(messages, store, .nowhereElse) { nonce in
                    EntryName(messagesOf: draft.commit, nonce: nonce)
                }
                created.append(name)
                index.messages = name
            }
            guard try store.createIndex(index.bytes(draft.commit), draft.commit, in: self.folder) else {
                for name in created { store.removeEntry(name, in: self.folder) }
                return false
            }
        } catch {
            for name in created { store.removeEntry(name, in: self.folder) }
            throw error
        }
        let commits = try store.commits(in: self.folder)
        if let last = commits.max(), last > draft.commit {
            // Other clients have committed since. If their commits are based on this commit, the
            // newest history contains its name. Otherwise this process was suspended for so long
            // that the commit's number was free again. `sweep()` then removes the files of this
            // commit.
            return try self.newest(store).index?.history.contains(name) == true
        }
        let names = Set(index.files)
        let gone = snapshot.index.files.filter { !names.contains($0) }
        store.removeEntries(gone, besides: index.names, in: self.folder)
        for commit in commits where commit <= draft.commit - Self.storedIndexes {
            store.removeIndex(commit, in: self.folder)
        }
        // Entries of the overlay exist only in memory, so another process may use their names for
        // other entries.
        if !(store is OverlayStore) {
            let written = draft.fresh.compactMap { id, new in index.name(of: id).map { ItemFacts($0, new.cached) } }
            self.note(written, in: index)
        }
        return true
    }

    private func create(
        _ bytes: Data,
        _ store: any EntryStore,
        _ source: EntrySource = .server,
        _ name: (_ nonce: UInt8) -> EntryName
    ) throws -> EntryName {
        for _ in 0..<Self.attempts {
            let name = name(.random(in: 0 ... .max) & ~1)
            if try store.createEntry(bytes, name, source, in: self.folder) { return name }
        }
        throw Busy()
    }

    private func createBox(
        _ fresh: some Sequence<(key: Int64, value: (cached: CachedItem, bytes: Data))>,
        at commit: Int64,
        _ store: any EntryStore
    ) throws -> [EntryName] {
        for _ in 0..<Self.attempts {
            let nonce = UInt8.random(in: 0 ... .max) | 1
            let entries = fresh.map { id, new in (EntryName(id: id, commit: commit, nonce: nonce), new.bytes) }
            if try store.createBox(entries, in: self.folder) { return entries.map(\.0) }
        }
        throw Busy()
    }
}
