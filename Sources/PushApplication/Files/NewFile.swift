import Foundation

/// A new file that appears under its name either complete or not at all, even after a power
/// failure. It never replaces an existing file.
///
/// The content is first written to a file with a temporary name: the path plus `.init`. A crash
/// may leave this temporary file, and the next attempt replaces it.
package struct NewFile: ~Copyable {
    private let path: String
    private let what: String
    private let file: FileHandle

    /// The path of the file until `appear()` gives it its name.
    package var temporaryPath: String { self.path + ".init" }

    /// Writes the text under the temporary name. If the folder is missing, creates it for its
    /// owner only.
    ///
    /// `what` begins each error. Throws `ConfigurationError`, or `CommandFailure` if the disk is
    /// full.
    package init(_ path: String, what: String, mode: UInt32, text: String) throws {
        let temporary = path + ".init"
        do {
            try FileManager.default.createDirectory(
                at: URL(fileURLWithPath: path).deletingLastPathComponent(),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw PrivateFile.failure("\(what) \(path) cannot be created", error)
        }
        // Removes a temporary file that a crash has left. If another process is writing this file
        // right now, that process's `appear()` fails.
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else {
            throw PrivateFile.failure("\(what) \(path) cannot be created", errno)
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            try file.write(contentsOf: Data(text.utf8))
            try file.synchronize()
        } catch {
            unlink(temporary)
            throw PrivateFile.failure("\(what) \(path) cannot be written", error)
        }
        (self.path, self.what, self.file) = (path, what, file)
    }

    deinit {
        unlink(self.temporaryPath)
    }

    /// Gives the file its name. Throws `ConfigurationError` if a file with that name exists
    /// already, or if another process has replaced the temporary file.
    package func appear() throws {
        // The new name is given to the open file itself: another process may have put its own file
        // under the temporary name.
        let own = "/proc/self/fd/\(self.file.fileDescriptor)"
        guard linkat(AT_FDCWD, own, AT_FDCWD, self.path, AT_SYMLINK_FOLLOW) == 0 else {
            guard [EEXIST, ENOENT].contains(errno) else {
                throw PrivateFile.failure("\(self.what) \(self.path) cannot be created", errno)
            }
            throw ConfigurationError("\(self.what) \(self.path) was created by another process meanwhile; try again")
        }
        try PrivateFile.synchronize(folderOf: self.path, what: self.what)
    }
}
