internal import Foundation

/// Entries and indexes in memory.
final class MemoryStore: EntryStore {
    private struct Files {
        var indexes: [Int64: Data] = [:]
        var entries: [EntryName: Data] = [:]

        var isEmpty: Bool { self.indexes.isEmpty && self.entries.isEmpty }
    }

    /// This is a lock rather than an actor, because each access is short.
    private let accounts = Locked<[AccountFolder: Files]>([:])

    func folder(of account: String) -> AccountFolder { AccountFolder(name: account) }

    func folders() -> [AccountFolder] { self.accounts.withLock { Array($0.keys) } }

    func commits(in folder: AccountFolder) -> [Int64] { self.files(folder) { Array($0.indexes.keys) } }

    func readIndex(_ commit: Int64, in folder: AccountFolder) -> StoredIndex {
        self.files(folder) { $0.indexes[commit] }.map(StoredIndex.value) ?? .gone
    }

    func createIndex(_ value: Data, _ commit: Int64, in folder: AccountFolder) -> Bool {
        self.files(folder) { files in
            guard files.indexes[commit] == nil else { return false }
            files.indexes[commit] = value
            return true
        }
    }

    func removeIndex(_ commit: Int64, in folder: AccountFolder) {
        self.files(folder) { $0.indexes[commit] = nil }
    }

    func readEntry(_ name: EntryName, in folder: AccountFolder) -> Data? { self.files(folder) { $0.entries[name] } }

    func createEntry(_ value: Data, _ name: EntryName, _ source: EntrySource, in folder: AccountFolder) -> Bool {
        self.files(folder) { files in
            guard files.entries[name] == nil else { return false }
            files.entries[name] = value
            return true
        }
    }

    func removeEntry(_ name: EntryName, in folder: AccountFolder) {
        self.files(folder) { $0.entries[name] = nil }
    }

    func removeAll(of folder: AccountFolder) { self.accounts.withLock { $0[folder] = nil } }

    func leftovers(in folder: AccountFolder) -> Set<String> {
        self.files(folder) { Set($0.entries.keys.map(Self.text)) }
    }

    func files(of names: [EntryName], in folder: AccountFolder) -> Set<String> { Set(names.map(Self.text)) }

    func removeLeftovers(_ files: Set<String>, except names: [EntryName], in folder: AccountFolder) {
        let gone = files.subtracting(names.map(Self.text))
        self.files(folder) { files in files.entries = files.entries.filter { !gone.contains(Self.text($0.key)) } }
    }

    private static func text(_ name: EntryName) -> String { "\(name.id) \(name.commit) \(name.nonce)" }

    private func files<Value>(_ folder: AccountFolder, _ body: (inout Files) -> Value) -> Value {
        self.accounts.withLock { accounts in
            // A read of an unknown account must not add an empty entry to the dictionary.
            defer { if accounts[folder]?.isEmpty == true { accounts[folder] = nil } }
            return body(&accounts[folder, default: Files()])
        }
    }
}
