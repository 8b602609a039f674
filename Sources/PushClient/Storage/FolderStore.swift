internal import Bytes
internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// Encrypted files: one folder for each account; names and contents are readable only with the
/// key.
///
/// Several processes may use one folder at the same time. A file never changes once it has its
/// name. An index gets its name by a hard link, which is atomic and fails if the name is taken.
final class FolderStore: EntryStore {
    let folder: URL
    private let names: SymmetricKey
    private let contents: SymmetricKey
    let limits: StoreLimits
    /// Whether this process has prepared the folder. The process holds the lock while it prepares
    /// the folder.
    private let isPrepared = Locked(false)

    init(_ folder: URL, key: SymmetricKey, limits: StoreLimits = StoreLimits()) {
        self.folder = folder
        self.names = Self.derive("names", from: key)
        self.contents = Self.derive("contents", from: key)
        self.limits = limits
    }

    func folder(of account: String) -> AccountFolder { AccountFolder(name: self.hash("account\n\(account)")) }

    func folders() -> [AccountFolder] {
        // A missing folder has no accounts.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder.path)) ?? []
        return names.filter { $0.utf8.count == 32 }.map(AccountFolder.init)
    }

    // MARK: - Indexes

    func commits(in folder: AccountFolder) throws -> [Int64] {
        try Self.files(in: self.indexes(folder)).compactMap { Int64($0) }
    }

    func readIndex(_ commit: Int64, in folder: AccountFolder) throws -> StoredIndex {
        guard let sealed = try Self.read(self.index(commit, folder)) else { return .gone }
        let opened = try? self.open(sealed, bound: "\(folder.name)/\(commit)")
        return opened.map(StoredIndex.value) ?? .damaged
    }

    func createIndex(_ value: Data, _ commit: Int64, in folder: AccountFolder) throws -> Bool {
        try self.make(self.indexes(folder), of: folder)
        return try self.createAtOnce(self.index(commit, folder), value, in: folder, isSynced: true)
    }

    /// Creates a complete file in one step, with the content bound to its name. Returns `false` if
    /// the name is taken or the folder is gone.
    func createAtOnce(_ file: URL, _ value: Data, in folder: AccountFolder, isSynced: Bool) throws -> Bool {
        let name = "\(Self.draft)\(UUID().uuidString)"
        let draft = self.indexes(folder).appending(path: name, directoryHint: .notDirectory)
        // This statement removes the draft's name in any case. If the link below exists, the file
        // stays under its new name.
        defer { Self.remove(draft) }
        try self.write(sealing: value, bound: self.place(of: file, folder), to: draft, isSynced: isSynced)
        do {
            try FileManager.default.linkItem(at: draft, to: file)
            return true
        } catch let error as CocoaError where error.code == .fileWriteFileExists {
            return false
        } catch {
            // Either the name is taken, or another process has removed the draft as a leftover, or
            // has removed the account.
            guard Self.isThere(file) || !Self.isThere(draft) else { throw error }
            return false
        }
    }

    func removeIndex(_ commit: Int64, in folder: AccountFolder) { Self.remove(self.index(commit, folder)) }

    // MARK: - Entries

    func readEntry(_ name: EntryName, in folder: AccountFolder) throws -> Data? {
        var value: Data?
        try self.readEntries([name], in: folder) { value = $1 }
        return value
    }

    func readEntries(_ names: [EntryName], in folder: AccountFolder, _ use: (EntryName, Data?) throws -> Void) throws {
        var box: OpenBox?
        // In this order, the entries of a box follow each other, so each box is opened once.
        for name in names.sorted(by: { ($0.commit, $0.nonce) < ($1.commit, $1.nonce) }) {
            if let new = name.box, new != box?.name { box = try self.open(new, in: folder) }
            let value = name.box == nil ? nil : box.flatMap { self.read(name.id, from: $0) }
            // If another process has unpacked the box, the entry has a file of its own.
            try use(name, value ?? self.readFile(of: name, in: folder))
        }
    }

    private func readFile(of name: EntryName, in folder: AccountFolder) throws -> Data? {
        let file = self.entry(name, folder)
        guard let sealed = try Self.read(file) else { return nil }
        // A damaged entry counts as missing.
        return try? self.open(sealed, bound: self.place(of: file, folder))
    }

    func createEntry(
        _ value: Data,
        _ name: EntryName,
        _ source: EntrySource,
        in folder: AccountFolder
    ) throws -> Bool {
        try self.make(self.entries(folder), of: folder)
        let file = self.entry(name, folder)
        do {
            let place = self.place(of: file, folder)
            try self.write(sealing: value, bound: place, to: file, isSynced: source == .nowhereElse)
            return true
        } catch let error as CocoaError where error.code == .fileWriteFileExists {
            return false
        }
    }

    func removeEntry(_ name: EntryName, in folder: AccountFolder) { Self.remove(self.entry(name, folder)) }

    func removeAll(of folder: AccountFolder) {
        let place = self.url(of: folder)
        let removed = self.folder.appending(path: "\(Self.removed)\(UUID().uuidString)", directoryHint: .isDirectory)
        // The new name belongs to no account. If the system refuses to rename, the files are
        // removed one by one.
        let isRenamed = (try? FileManager.default.moveItem(at: place, to: removed)) != nil
        Self.remove(isRenamed ? removed : place)
    }

    func leftovers(in folder: AccountFolder) -> Set<String> {
        // Files that cannot be listed now are removed by a later call.
        let entries = (try? Self.files(in: self.entries(folder))) ?? []
        let drafts = (try? Self.files(in: self.indexes(folder)))?.filter { $0.hasPrefix(Self.draft) } ?? []
        return Set(entries).union(drafts)
    }

    func files(of names: [EntryName], in folder: AccountFolder) -> Set<String> {
        let boxes = Self.boxes(of: names).filter { $0.value.count == self.boxSize }.keys
        return Set((names + boxes).map { self.entry($0, folder).lastPathComponent })
    }

    func removeLeftovers(_ files: Set<String>, except names: [EntryName], in folder: AccountFolder) {
        var gone = files.subtracting(self.files(of: names, in: folder))
        for (box, others) in Self.boxes(of: names)
        where gone.remove(self.entry(box, folder).lastPathComponent) != nil {
            self.unpack(box, keeping: others, in: folder)
        }
        for file in gone {
            let place = file.hasPrefix(Self.draft) ? self.indexes(folder) : self.entries(folder)
            Self.remove(place.appending(path: file, directoryHint: .notDirectory))
        }
    }

    // MARK: - Names

    private static let draft = "draft-"
    private static let entries = "entries"
    /// The prefix of an account's folder during its removal.
    static let removed = "removed-"

    func url(of folder: AccountFolder) -> URL { self.folder.appending(path: folder.name, directoryHint: .isDirectory) }

    private func indexes(_ folder: AccountFolder) -> URL {
        self.url(of: folder).appending(path: "index", directoryHint: .isDirectory)
    }

    private func index(_ commit: Int64, _ folder: AccountFolder) -> URL {
        self.indexes(folder).appending(path: "\(commit)", directoryHint: .notDirectory)
    }

    func entries(_ folder: AccountFolder) -> URL {
        self.url(of: folder).appending(path: Self.entries, directoryHint: .isDirectory)
    }

    func entry(_ name: EntryName, _ folder: AccountFolder) -> URL {
        let hash = self.hash("entry\n\(folder.name)\n\(name.id)\n\(name.commit)\n\(name.nonce)")
        // A large inbox calls this function thousands of times, and `URL` is slow.
        return self.folder.appending(path: "\(folder.name)/\(Self.entries)/\(hash)", directoryHint: .notDirectory)
    }

    /// The text that binds a file's content to its place.
    func place(of file: URL, _ folder: AccountFolder) -> String { "\(folder.name)/\(file.lastPathComponent)" }

    func hash(_ text: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: self.names)
        return Hexadecimal.text(of: code.prefix(16))
    }

    private static func derive(_ purpose: String, from key: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key,
            info: Data("sealpost client \(purpose)".utf8),
            outputByteCount: 32
        )
    }

    // MARK: - Contents

    /// Decrypts a file's content; throws if the file was moved or renamed, or belongs to another
    /// key.
    func open(_ sealed: Data, bound place: String) throws -> Data {
        try AES.GCM.open(.init(combined: sealed), using: self.contents, authenticating: Data(place.utf8))
    }

    /// Writes a new file; throws `CocoaError.fileWriteFileExists` if the name is taken.
    func write(sealing value: Data, bound place: String, to file: URL, isSynced: Bool = false) throws {
        // Indexes and payloads to send are synced, so their contents survive a loss of power. A
        // new file's name may still be lost; then the previous index is the latest. Other entries
        // need no sync: if one cannot be decrypted, the client fetches it again.
        try NewFile.create(file, self.seal(value, bound: place), isSynced: isSynced)
    }

    func seal(_ value: Data, bound place: String) throws -> Data {
        let box = try AES.GCM.seal(value, using: self.contents, authenticating: Data(place.utf8))
        guard let sealed = box.combined else { preconditionFailure("a nonce of twelve bytes is combined") }
        return sealed
    }

    // MARK: - Folders

    func make(_ place: URL, of folder: AccountFolder) throws {
        try self.isPrepared.withLock { isPrepared in
            if isPrepared, Self.isThere(self.folder) { return }
            try self.prepare()
            isPrepared = true
        }
        if Self.isThere(place) { return }
        let isNew = !Self.isThere(self.url(of: folder))
        try FileManager.default.createDirectory(
            at: place,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        if isNew { self.thin(besides: folder) }
    }

    static func files(in folder: URL) throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder.path)
        } catch let error as CocoaError where [.fileReadNoSuchFile, .fileNoSuchFile].contains(error.code) {
            return []
        }
    }

    /// Returns `nil` if the file is missing.
    static func read(_ file: URL, _ options: Data.ReadingOptions = []) throws -> Data? {
        do {
            return try Data(contentsOf: file, options: options)
        } catch let error as CocoaError where [.fileReadNoSuchFile, .fileNoSuchFile].contains(error.code) {
            return nil
        }
    }

    static func isThere(_ file: URL) -> Bool { FileManager.default.fileExists(atPath: file.path) }

    static func remove(_ file: URL) {
        // A missing file needs no removal.
        try? FileManager.default.removeItem(at: file)
    }

    /// Evicts the least recently used accounts beyond the limit.
    ///
    /// An account with sign-outs or tasks for the server stays, however old it is, because its
    /// sign-outs and tasks are stored nowhere else.
    private func thin(besides folder: AccountFolder) {
        let folders = self.folders()
        guard folders.count > self.limits.accounts else { return }
        let dates = folders.map { folder in
            [self.url(of: folder), self.indexes(folder)].compactMap { place in
                // A folder that was just removed counts as old.
                try? place.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
            }.max() ?? .distantPast
        }
        let oldest = zip(folders, dates).filter { $0.0 != folder }.sorted { $0.1 < $1.1 }.map(\.0)
        var excess = folders.count - self.limits.accounts
        for old in oldest where excess > 0 && !self.owes(old) {
            Self.remove(self.url(of: old))
            excess -= 1
        }
    }

    /// Whether an account has sign-outs or tasks that the server does not know yet.
    private func owes(_ folder: AccountFolder) -> Bool {
        do {
            // If the index is damaged, its sign-outs and tasks are lost already.
            guard let index = try Account(self, folder: folder).newest(self).index else { return false }
            return !index.signOuts.isEmpty || !index.outbox.isEmpty
        } catch {
            // An index that cannot be read now may have sign-outs or tasks.
            return true
        }
    }
}
