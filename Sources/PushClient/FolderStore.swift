internal import Bytes
internal import Crypto
internal import Foundation

/// Values in sealed files: one folder for each account, names and contents readable with the key only.
///
/// A write replaces a file atomically, so that a crash leaves the old or the new one. A damaged file does not open, and
/// is removed. Two processes may use one folder: each file is a whole value.
struct FolderStore: KeyValueStore {
    private let folder: URL
    private let names: SymmetricKey
    private let contents: SymmetricKey
    private let limits: StoreLimits

    init(_ folder: URL, key: SymmetricKey, limits: StoreLimits = StoreLimits()) {
        self.folder = folder
        self.names = Self.derive("names", from: key)
        self.contents = Self.derive("contents", from: key)
        self.limits = limits
    }

    func read(_ name: ValueName) -> Data? {
        let file = self.file(name)
        // A file that cannot be read now, as before the first unlock, is left alone.
        guard let sealed = try? Data(contentsOf: file) else { return nil }
        do {
            return try AES.GCM.open(.init(combined: sealed), using: self.contents, authenticating: self.binding(name))
        } catch {
            self.remove(name)
            return nil
        }
    }

    func write(_ value: Data, as name: ValueName) throws {
        let file = self.file(name)
        let account = file.deletingLastPathComponent()
        if !FileManager.default.fileExists(atPath: account.path) {
            try FileManager.default.createDirectory(
                at: account,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            self.thin(self.folder, count: self.limits.accounts, bytes: .max, except: account) { _ in true }
        }
        let box = try AES.GCM.seal(value, using: self.contents, authenticating: self.binding(name))
        guard let sealed = box.combined else { preconditionFailure("a nonce of twelve bytes is combined") }
        #if canImport(Darwin) && !os(macOS)
            try sealed.write(to: file, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
        #else
            try sealed.write(to: file, options: .atomic)
        #endif
        guard name.isEvictable else { return }
        self.thin(account, count: self.limits.evictableCount, bytes: self.limits.evictableBytes, except: file) {
            $0.pathExtension == Self.evictable
        }
    }

    func remove(_ name: ValueName) {
        // A file that is not there need not be removed.
        try? FileManager.default.removeItem(at: self.file(name))
    }

    func removeAll(of account: String) {
        // Nor need a folder that is not there.
        try? FileManager.default.removeItem(at: self.folder(of: account))
    }

    // MARK: - Private

    private static let evictable = "evictable"

    /// The name that a content is bound to, so that a file that was moved or renamed does not open.
    private func binding(_ name: ValueName) -> Data {
        Data("1\n\(name.account)\n\(name.name)".utf8)
    }

    private func folder(of account: String) -> URL {
        self.folder.appending(path: self.hash("account\n\(account)"), directoryHint: .isDirectory)
    }

    private func file(_ name: ValueName) -> URL {
        let hash = self.hash("value\n\(name.account)\n\(name.name)")
        return self.folder(of: name.account)
            .appending(path: "\(hash).\(name.isEvictable ? Self.evictable : "kept")", directoryHint: .notDirectory)
    }

    private func hash(_ text: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: self.names)
        return Hexadecimal.text(of: code.prefix(16))
    }

    /// Removes the least recently changed files until at most `count` entries and `bytes` are left.
    private func thin(_ folder: URL, count: Int, bytes: Int, except kept: URL, _ isMeant: (URL) -> Bool) {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey, .fileSizeKey]
        // Without a list nothing is removed; the next write tries again.
        guard
            let all = try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: Array(keys))
        else { return }
        let entries = all.filter(isMeant).map { url in
            // An entry that has just gone counts as old.
            let values = try? url.resourceValues(forKeys: keys)
            return (url: url, date: values?.contentModificationDate ?? .distantPast, bytes: values?.fileSize ?? 0)
        }
        var left = entries.count
        var size = entries.reduce(0) { $0 + $1.bytes }
        for entry in entries.sorted(by: { $0.date < $1.date }) {
            guard left > count || size > bytes else { return }
            guard entry.url.lastPathComponent != kept.lastPathComponent else { continue }
            // Another process may have removed it.
            try? FileManager.default.removeItem(at: entry.url)
            left -= 1
            size -= entry.bytes
        }
    }

    private static func derive(_ purpose: String, from key: SymmetricKey) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key,
            info: Data("sealpost client \(purpose)".utf8),
            outputByteCount: 32
        )
    }
}
