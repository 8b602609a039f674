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
    let place: any KeyValueStore

    /// In memory, for as long as this store is held.
    public static var memory: AnswerStore { AnswerStore(place: MemoryPlace()) }

    /// Sealed files in a folder of its own, which an app may share with its extensions.
    ///
    /// AES-256-GCM under keys that are derived from `key`, which must be secret and of 256 bits, such as one in the
    /// keychain. Values under another key are not found. On Apple platforms the files can be read once the device
    /// has been unlocked after its start.
    public static func folder(_ url: URL, key: SymmetricKey) -> AnswerStore {
        AnswerStore(place: FolderPlace(url, key: key))
    }
}

/// What an answer store needs of a place: whole values under names.
protocol KeyValueStore: Sendable {
    func read(_ name: PlaceName) -> Data?
    /// Puts a value in the place of an older one, or leaves that as it is and throws.
    func write(_ value: Data, as name: PlaceName) throws
    func remove(_ name: PlaceName)
    func removeAll(of account: String)
}

/// The name of a kept value.
struct PlaceName: Hashable, Sendable {
    /// Server and account.
    let account: String
    let name: String
    /// Whether the store may delete it when it holds too much, the oldest first.
    let isEvictable: Bool
}

/// How much a store keeps: of values that it may delete, and of all accounts.
struct PlaceLimits: Sendable {
    var spareCount = 1000
    var spareBytes = 64 << 20
    var accounts = 8
}
