internal import Foundation

/// A store of the files of accounts: entries, which never change, and numbered indexes. Only the
/// index with the highest number is valid.
protocol EntryStore: Sendable {
    func folder(of account: String) -> AccountFolder
    func folders() -> [AccountFolder]

    /// The numbers of the stored indexes, in any order.
    ///
    /// This function and `readIndex(_:in:)` throw if the files cannot be read now, as before a
    /// device's first unlock. The caller must not treat such files as missing.
    func commits(in folder: AccountFolder) throws -> [Int64]
    func readIndex(_ commit: Int64, in folder: AccountFolder) throws -> StoredIndex
    /// Returns `false` if the number is taken or the folder is gone: of two writers only one
    /// succeeds.
    func createIndex(_ value: Data, _ commit: Int64, in folder: AccountFolder) throws -> Bool
    func removeIndex(_ commit: Int64, in folder: AccountFolder)

    /// Returns `nil` if the entry is missing or damaged.
    func readEntry(_ name: EntryName, in folder: AccountFolder) throws -> Data?
    /// Passes each of the entries to `use`, one after the other in any order; `nil` stands for an
    /// entry that is missing or damaged.
    func readEntries(_ names: [EntryName], in folder: AccountFolder, _ use: (EntryName, Data?) throws -> Void) throws
    /// Returns `false`, and changes nothing, if the name is taken.
    func createEntry(_ value: Data, _ name: EntryName, _ source: EntrySource, in folder: AccountFolder) throws -> Bool
    func removeEntry(_ name: EntryName, in folder: AccountFolder)

    /// The number of entries in a box, a file with entries of one commit; 1 for a store without
    /// boxes.
    var boxSize: Int { get }
    /// Returns `false`, and changes nothing, if the box's name is taken.
    func createBox(_ entries: [(name: EntryName, value: Data)], in folder: AccountFolder) throws -> Bool
    /// Removes entries, also from boxes with some of the entries `others`, which stay.
    func removeEntries(_ names: [EntryName], besides others: [EntryName], in folder: AccountFolder)

    /// Removes all files of an account, starting with one atomic step. The removal needs no room
    /// on the disk.
    func removeAll(of folder: AccountFolder)

    /// The names of all files that may be leftovers. Only the store understands these names.
    func leftovers(in folder: AccountFolder) -> Set<String>
    /// The names of files that are no leftovers, because they have only the named entries.
    func files(of names: [EntryName], in folder: AccountFolder) -> Set<String>
    /// Removes leftovers, except for the named entries.
    func removeLeftovers(_ files: Set<String>, except names: [EntryName], in folder: AccountFolder)

    /// The values that versions of this library up to 0.1.0 stored; `nil` without any.
    func earlier(of account: String, proof: AccountIndex.Proof) -> EarlierValues?
    func removeEarlier(of account: String)
}

extension EntryStore {
    func readEntries(_ names: [EntryName], in folder: AccountFolder, _ use: (EntryName, Data?) throws -> Void) throws {
        for name in names { try use(name, self.readEntry(name, in: folder)) }
    }

    var boxSize: Int { 1 }

    func createBox(_ entries: [(name: EntryName, value: Data)], in folder: AccountFolder) throws -> Bool {
        preconditionFailure("a store with a box size of 1 has no boxes")
    }

    func removeEntries(_ names: [EntryName], besides others: [EntryName], in folder: AccountFolder) {
        for name in names { self.removeEntry(name, in: folder) }
    }

    func earlier(of account: String, proof: AccountIndex.Proof) -> EarlierValues? { nil }
    func removeEarlier(of account: String) {}
}

/// The folder of one account's files.
struct AccountFolder: Sendable, Hashable {
    let name: String
}

/// The name of an entry.
///
/// A name is never used twice: it has the number of the commit that writes it, and commit numbers
/// only grow. If two processes write the same commit, the nonce makes their names different.
struct EntryName: Sendable, Hashable {
    let id: Int64
    let commit: Int64
    let nonce: UInt8

    /// The name of the box that the entry was created in; `nil` if the entry has always had a file
    /// of its own.
    ///
    /// The nonces of boxes are odd. Up to version 0.2.0 of this library, the nonces of other files
    /// could be odd, too. A box has the id -2, which no notification of the server has.
    var box: EntryName? {
        self.nonce & 1 == 0 ? nil : EntryName(id: -2, commit: self.commit, nonce: self.nonce)
    }
}

/// The place from which the content of an entry can be restored.
enum EntrySource: Sendable {
    case server
    /// The entry is the only copy, such as a payload to send. So it must survive a loss of power.
    case nowhereElse
}

enum StoredIndex: Sendable {
    case value(Data)
    /// The file is damaged or encrypted under another key.
    case damaged
    /// A later index has replaced this index.
    case gone
}

/// The limits of a store.
struct StoreLimits: Sendable {
    /// The maximum number of notifications of one account. Beyond this number, the least recently
    /// changed notifications are evicted.
    var entries = 5000
    /// The maximum number of bytes of one account's notifications. Beyond this number, the least
    /// recently changed notifications lose their payloads, which can still be fetched one by one.
    var bytes = 32 << 20
    /// The maximum number of accounts. Beyond this number, the store evicts the least recently
    /// used account that has no sign-outs or tasks for the server.
    var accounts = 8
    /// The number of entries in a box.
    var box = 16
}
