internal import Foundation

/// A layer in memory for changes, over files that can be read but not written.
///
/// Other processes do not see these changes, and the changes are lost when the process ends.
final class OverlayStore: EntryStore {
    private let files: any EntryStore
    private let memory = MemoryStore()

    init(_ files: any EntryStore, _ folder: AccountFolder) {
        self.files = files
        // Unreadable files count as empty.
        guard let commit = try? files.commits(in: folder).max(),
            case .value(let index)? = try? files.readIndex(commit, in: folder)
        else { return }
        _ = self.memory.createIndex(index, commit, in: folder)
    }

    func folder(of account: String) -> AccountFolder { self.files.folder(of: account) }
    func folders() -> [AccountFolder] { self.memory.folders() }
    func commits(in folder: AccountFolder) -> [Int64] { self.memory.commits(in: folder) }

    func readIndex(_ commit: Int64, in folder: AccountFolder) -> StoredIndex {
        self.memory.readIndex(commit, in: folder)
    }

    func createIndex(_ value: Data, _ commit: Int64, in folder: AccountFolder) -> Bool {
        self.memory.createIndex(value, commit, in: folder)
    }

    func removeIndex(_ commit: Int64, in folder: AccountFolder) { self.memory.removeIndex(commit, in: folder) }

    func readEntry(_ name: EntryName, in folder: AccountFolder) throws -> Data? {
        try self.memory.readEntry(name, in: folder) ?? self.files.readEntry(name, in: folder)
    }

    func createEntry(_ value: Data, _ name: EntryName, _ source: EntrySource, in folder: AccountFolder) -> Bool {
        self.memory.createEntry(value, name, source, in: folder)
    }

    func removeEntry(_ name: EntryName, in folder: AccountFolder) { self.memory.removeEntry(name, in: folder) }
    func removeAll(of folder: AccountFolder) { self.memory.removeAll(of: folder) }
    func leftovers(in folder: AccountFolder) -> Set<String> { [] }
    func files(of names: [EntryName], in folder: AccountFolder) -> Set<String> { [] }
    func removeLeftovers(_ files: Set<String>, except names: [EntryName], in folder: AccountFolder) {}
}
