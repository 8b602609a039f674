public import Foundation

#if canImport(CryptoKit)
    public import CryptoKit
#else
    public import Cryptography
#endif

extension PushClient {
    /// A store for a client's verified answers, its inbox and its registration.
    ///
    /// A client sees only the data of its own server and account. The client fetches damaged or
    /// lost data again, except for the tasks of an ``Outbox``.
    ///
    /// ```swift
    /// let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: "group.example.app")
    /// guard let folder = group?.appending(path: "push") else { throw Trouble.noGroup }
    /// let store = PushClient.Store.folder(folder, key: keyFromKeychain)
    /// ```
    public struct Store: Sendable {
        let entries: any EntryStore

        /// A store in memory, whose data exist until this store is released.
        public static var memory: Store { Store(entries: MemoryStore()) }

        /// A store of encrypted files in a folder of its own, which an app and its extensions may
        /// use at the same time.
        ///
        /// The files are encrypted with AES-256-GCM under keys derived from `key`, a secret of 256
        /// bits, such as one in the keychain. Files encrypted under another key are lost; the
        /// first write under this key removes them. On Apple platforms the files become readable
        /// at the first unlock after the device starts, and are not backed up. There is no file
        /// lock: a process may be suspended or killed at any moment.
        public static func folder(_ url: URL, key: SymmetricKey) -> Store {
            Store(entries: FolderStore(url, key: key))
        }
    }
}
