package import Foundation

/// A file that appears whole under its name or not at all, also after a power failure, and never
/// replaces another one.
///
/// It is written under a temporary name, the path plus `.init`. A crash may leave the temporary
/// file, and the next attempt replaces it.
package struct NewFile: ~Copyable {
    private let path: String
    private let what: String
    private let file: FileHandle

    /// The path of the text until `appear()`.
    package var temporaryPath: String { self.path + ".init" }

    /// Writes the text under the temporary name; makes the folder, for its owner only, if there is
    /// none.
    ///
    /// `what` begins each error. Throws `ConfigurationError`.
    package init(_ path: String, what: String, mode: mode_t, text: String) throws {
        let temporary = path + ".init"
        do {
            try FileManager.default.createDirectory(
                at: URL(fileURLWithPath: path).deletingLastPathComponent(),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw ConfigurationError("\(what) \(path) cannot be created: \(error.localizedDescription)")
        }
        // Removes the file that a crash has left. If another process is writing that file at this
        // moment, it can no longer link it.
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw ConfigurationError("\(what) \(path) cannot be created: \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(text.utf8))
            try file.synchronize()
        } catch {
            unlink(temporary)
            throw ConfigurationError("\(what) \(path) cannot be written: \(error.localizedDescription)")
        }
        (self.path, self.what, self.file) = (path, what, file)
    }

    deinit {
        unlink(self.temporaryPath)
    }

    /// Gives the file its name. Throws `ConfigurationError` if a file with that name exists
    /// already, or another process has taken the temporary name meanwhile.
    package func appear() throws {
        // This links the open file itself, and not a file that may have taken the temporary name.
        let own = "/proc/self/fd/\(self.file.fileDescriptor)"
        guard linkat(AT_FDCWD, own, AT_FDCWD, self.path, AT_SYMLINK_FOLLOW) == 0 else {
            let reason =
                switch errno {
                case EEXIST, ENOENT: "was created by another process meanwhile; try again"
                default: "cannot be created: \(String(cString: strerror(errno)))"
                }
            throw ConfigurationError("\(self.what) \(self.path) \(reason)")
        }
        try PrivateFile.synchronize(folderOf: self.path, what: self.what)
    }
}
