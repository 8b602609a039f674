internal import Foundation

extension FolderStore {
    private static let keyName = "key"

    /// Makes the folder, which is not backed up, or finds it.
    ///
    /// If what is there was sealed under another key, that key is lost, and with it all of it: it
    /// is removed.
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
        // A process was killed while it removed them.
        for name in try Self.files(in: self.folder) where name.hasPrefix(Self.removed) {
            Self.remove(self.folder.appending(path: name, directoryHint: .isDirectory))
        }
        let file = self.folder.appending(path: Self.keyName, directoryHint: .notDirectory)
        // Twice: after others are removed, and if another process makes it at the same time.
        for _ in 0..<3 {
            guard let sealed = try Self.read(file) else {
                try self.makeKeyFile(file)
                continue
            }
            // Opening it shows that the key is the one.
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
        // Another process may have been faster.
        try? FileManager.default.linkItem(at: draft, to: file)
    }
}
