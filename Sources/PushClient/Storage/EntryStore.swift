internal import Foundation

/// Where the files of accounts are: those of entries, which never change, and numbered indexes, of
/// which the highest counts.
protocol EntryStore: Sendable {
    func folder(of account: String) -> AccountFolder
    func folders() -> [AccountFolder]

    /// The numbers of the indexes that are there, in any order.
    ///
    /// This and the other reading throws if it cannot be done now, as before a device's first
    /// unlock: then nothing may be concluded.
    func commits(in folder: AccountFolder) throws -> [Int64]
    func readIndex(_ commit: Int64, in folder: AccountFolder) throws -> StoredIndex
    /// Returns `false` if there is one of that number, or the folder has gone: of two writers one
    /// alone succeeds.
    func createIndex(_ value: Data, _ commit: Int64, in folder: AccountFolder) throws -> Bool
    func removeIndex(_ commit: Int64, in folder: AccountFolder)

    /// `nil` for one that is not there or is damaged.
    func readEntry(_ name: EntryName, in folder: AccountFolder) throws -> Data?
    /// Returns `false`, and changes nothing, if there is one of that name.
    func createEntry(_ value: Data, _ name: EntryName, _ source: EntrySource, in folder: AccountFolder) throws -> Bool
    func removeEntry(_ name: EntryName, in folder: AccountFolder)

    /// Removes all files of an account, in one step at first. It needs no room on the disk.
    func removeAll(of folder: AccountFolder)

    /// All files that may be left of something, by names that only the store understands.
    func leftovers(in folder: AccountFolder) -> Set<String>
    /// Removes those files, except for those of the named entries.
    func removeLeftovers(_ files: Set<String>, except names: [EntryName], in folder: AccountFolder)

    /// What a version of this library up to 0.1.0 has kept; `nil` if there is nothing.
    func earlier(of account: String, proof: AccountIndex.Proof) -> EarlierValues?
    func removeEarlier(of account: String)
}

extension EntryStore {
    func earlier(of account: String, proof: AccountIndex.Proof) -> EarlierValues? { nil }
    func removeEarlier(of account: String) {}
}

/// The place of one account's files.
struct AccountFolder: Sendable, Hashable {
    let name: String
}

/// The name of an entry's file.
///
/// It is never given again: the number of the commit that writes it only grows, and the nonce
/// tells apart two that contend for one commit.
struct EntryName: Sendable, Hashable {
    let id: Int64
    let commit: Int64
    let nonce: UInt8
}

/// Where the content of an entry could be had again.
enum EntrySource: Sendable {
    case server
    /// It must be whole after a loss of power.
    case nowhereElse
}

enum StoredIndex: Sendable {
    case value(Data)
    /// Or sealed under another key.
    case damaged
    /// There is a later one.
    case gone
}

/// How much a store keeps.
struct StoreLimits: Sendable {
    /// Notifications of one account; beyond it those go that came first.
    var entries = 5000
    /// Bytes of one account's notifications; beyond it those that came first give up their
    /// payloads, which can still be fetched one by one.
    var bytes = 32 << 20
    /// The most accounts that are kept. Beyond it, evicts the least recently used account that has
    /// nothing left to upload.
    var accounts = 8
}
