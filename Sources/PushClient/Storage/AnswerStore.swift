public import Foundation

#if canImport(CryptoKit)
    public import CryptoKit
#else
    public import Cryptography
#endif

/// Where a client keeps verified answers, the inbox and its registration.
///
/// A client sees only what is of its own server and account. But for what waits in an ``Outbox``,
/// nothing here is needed to work: what is damaged or cannot be written is fetched again.
///
/// ```swift
/// let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.example.app")
/// guard let folder = group?.appending(path: "push") else { throw Trouble.noGroup }
/// let store = AnswerStore.folder(folder, key: keyFromKeychain)
/// ```
public struct AnswerStore: Sendable {
    let entries: any EntryStore

    /// In memory, for as long as this store is held.
    public static var memory: AnswerStore { AnswerStore(entries: MemoryStore()) }

    /// Sealed files in a folder of its own, which an app and its extensions may use at the same
    /// time.
    ///
    /// AES-256-GCM under keys that are derived from `key`, which must be secret and of 256 bits,
    /// such as one in the keychain. What was kept under another key is lost, and removed with the
    /// first that is kept under this one. On Apple platforms the files can be read once the device
    /// has been unlocked after its start, and are not backed up. There is no file lock: a process
    /// may be suspended or killed at any moment.
    public static func folder(_ url: URL, key: SymmetricKey) -> AnswerStore {
        AnswerStore(entries: FolderStore(url, key: key))
    }
}
