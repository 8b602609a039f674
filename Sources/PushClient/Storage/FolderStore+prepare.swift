internal import Foundation

extension FolderStore {
    private static let keyName = "key"

    /// Creates the folder unless it exists, and excludes it from backups.
    ///
    /// Files that were encrypted under another key cannot be read any more. If the folder has such
    /// files, all its files are removed.
    func prepare() throws {
        try FileManager.default.createDirectory(
            at: self.folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        #if canImport(Darwin)
            var folder = self.folder
            var values = URLResourceValues()
            values.isExcludedFromBackup = true
            try folder.setResourceValues(values)
        #endif
        // Removes leftovers of a process that was killed during a removal.
        for name in try Self.files(in: self.folder) where name.hasPrefix(Self.removed) {
            Self.remove(self.folder.appending(path: name, directoryHint: .isDirectory))
        }
        let file = self.folder.appending(path: Self.keyName, directoryHint: .notDirectory)
        // The loop repeats after it has removed files of another key, and after this or another
        // process has created the key file.
        for _ in 0..<3 {
            guard let sealed = try Self.read(file) else {
                try self.makeKeyFile(file)
                continue
            }
            // Decrypting the file shows that the key is right.
            if (try? self.open(sealed, bound: Self.keyName)) != nil { return }
            for name in try Self.files(in: self.folder) {
                Self.remove(self.folder.appending(path: name, directoryHint: .notDirectory))
            }
        }
    }

    private func makeKeyFile(_ file: URL) throws {
        let draft = self.folder.appending(path: "\(Self.keyName)-\(UUID().uuidString)", directoryHint: .notDirectory)
        defer { Self.remove(draft) }
        try self.write(sealing: Data(), bound: Self.keyName, to: draft, isSynced: true)
        // The link fails if another process has created the key file meanwhile.
        try? FileManager.default.linkItem(at: draft, to: file)
    }
}
