public import Crypto
public import Foundation

/// Where a client keeps verified answers, the inbox and its registration.
///
/// A client sees only values of its own server and account. No value is needed to work: one that is damaged or
/// cannot be written is fetched again.
///
/// ```swift
/// let folder = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.example.app")
/// let store = AnswerStore.folder(folder.appending(path: "push"), key: keyFromKeychain)
/// ```
public struct AnswerStore: Sendable {
    let values: any KeyValueStore

    /// In memory, for as long as this store is held.
    public static var memory: AnswerStore { AnswerStore(values: MemoryStore()) }

    /// Sealed files in a folder of its own, which an app may share with its extensions.
    ///
    /// AES-256-GCM under keys that are derived from `key`, which must be secret and of 256 bits, such as one in the
    /// keychain. Values under another key are not found. On Apple platforms the files can be read once the device
    /// has been unlocked after its start.
    public static func folder(_ url: URL, key: SymmetricKey) -> AnswerStore {
        AnswerStore(values: FolderStore(url, key: key))
    }
}

/// Whole values by name: the storage under an `AnswerStore`.
protocol KeyValueStore: Sendable {
    func read(_ name: ValueName) -> Data?
    /// Replaces the value of that name, or leaves it as it is and throws.
    func write(_ value: Data, as name: ValueName) throws
    func remove(_ name: ValueName)
    func removeAll(of account: String)
}

/// The name of a kept value.
struct ValueName: Hashable, Sendable {
    /// Server and account.
    let account: String
    let name: String
    /// Whether the store may delete it when it holds too much, the oldest first.
    let isEvictable: Bool
}

/// How much a store keeps: evictable values, and accounts.
struct StoreLimits: Sendable {
    var evictableCount = 1000
    var evictableBytes = 64 << 20
    var accounts = 8
}
