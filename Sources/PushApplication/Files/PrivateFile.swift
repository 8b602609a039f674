package import Foundation

/// A file that only its owner may read, for keys that the server creates.
enum PrivateFile {
    /// Whether no file has this name; `false` also if that cannot be found out.
    package static func isMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 && [ENOENT, ENOTDIR].contains(errno)
    }

    /// Reads the file; creates it first, with mode 0600, if it is missing.
    ///
    /// `what` begins each error. Throws `ConfigurationError` if the file cannot be created or
    /// read, or if others may read it.
    static func load(_ path: String, what: String, ifMissing make: () -> String) throws -> String {
        if self.isMissing(path) {
            try NewFile(path, what: what, mode: 0o600, text: make()).appear()
        }
        return try self.load(path, what: what)
    }

    /// Reads the file. Throws `ConfigurationError` if it cannot be read, or if others may read it.
    static func load(_ path: String, what: String) throws -> String {
        let (text, status) = try self.read(path, what: what)
        guard self.isPrivate(mode: status.st_mode, group: status.st_gid, ownGroups: self.ownGroups) else {
            throw ConfigurationError(
                "\(what) \(path) is readable by other users; set its mode to 0600, or 0640 for a group of the server's user"
            )
        }
        return text
    }

    /// Whether only the owner, and a group of this process, may read and change a file.
    ///
    /// Kubernetes gives the files of a volume the group of the pod (`fsGroup`) and the mode 0440
    /// or 0660 at each mount.
    static func isPrivate(mode: mode_t, group: gid_t, ownGroups: Set<gid_t>) -> Bool {
        mode & 0o007 == 0 && (mode & 0o070 == 0 || ownGroups.contains(group))
    }

    private static var ownGroups: Set<gid_t> {
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return Set(groups.prefix(max(0, Int(count)))).union([getegid()])
    }

    /// Reads the file and its status, whoever may read it. Never waits at a FIFO.
    ///
    /// Throws `ConfigurationError` if it cannot be read, or is not a regular file of UTF-8 text up
    /// to 1 MiB.
    static func read(_ path: String, what: String) throws -> (text: String, status: stat) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw ConfigurationError("\(what) \(path) cannot be read: \(String(cString: strerror(errno)))")
        }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= 1 << 20,
            let data = try? file.readToEnd() ?? Data(),
            let text = String(data: data.withoutByteOrderMark, encoding: .utf8)
        else { throw ConfigurationError("\(what) \(path) cannot be read: it is not a text file") }
        return (text, status)
    }

    /// Replaces the file's content atomically, also across a power failure; sets mode 0600 and
    /// keeps the owner.
    ///
    /// The new file is opened before the old one is read, and is the lock: of two concurrent
    /// changes the second waits for half a second and then throws, so that neither is lost. A
    /// killed process leaves no lock; the next change overwrites its file. Throws
    /// `ConfigurationError` if the change fails, and rethrows errors of `content`.
    static func change<Value>(
        _ path: String,
        what: String,
        _ content: (String) throws -> (String, Value)
    ) throws -> Value {
        let new = path + ".new"
        let file = try self.openLocked(new, what: what, of: path)
        let value: Value
        do {
            let (text, result) = try content(self.load(path, what: what))
            value = result
            try self.overwrite(with: text, file, path: new, what: what)
            var status = stat()
            guard
                stat(path, &status) == 0, fchown(file.fileDescriptor, status.st_uid, status.st_gid) == 0,
                rename(new, path) == 0
            else {
                throw ConfigurationError("\(what) \(path) cannot be changed: \(String(cString: strerror(errno)))")
            }
        } catch {
            unlink(new)
            throw error
        }
        try self.synchronize(folderOf: path, what: what)
        return value
    }

    /// Syncs the folder's entries to the disk.
    static func synchronize(folderOf path: String, what: String) throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { if descriptor >= 0 { close(descriptor) } }
        guard descriptor >= 0, fsync(descriptor) == 0 else {
            throw ConfigurationError("\(what) \(path) cannot be synced to disk: \(String(cString: strerror(errno)))")
        }
    }

    // MARK: - Private

    /// Creates the file with mode 0600. Throws if that fails, with the text `taken` if the file
    /// exists.
    private static func create(_ path: String, what: String, taken: String) throws -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw ConfigurationError(taken) }
            throw ConfigurationError("\(what) \(path) cannot be created: \(String(cString: strerror(errno)))")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    /// How many attempts a change makes while another one runs, and the microseconds between them.
    private static let (lockAttempts, lockPause): (Int, UInt32) = (25, 20_000)

    /// Opens the file for a change of `path`, with mode 0600, under a lock that ends with the
    /// process.
    private static func openLocked(_ new: String, what: String, of path: String) throws -> FileHandle {
        for _ in 1...self.lockAttempts {
            let descriptor = open(new, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw ConfigurationError("\(what) \(new) cannot be created: \(String(cString: strerror(errno)))")
            }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            guard self.isOwnFile(descriptor) else {
                throw ConfigurationError(
                    "\(what) \(new) has a second name (hard link) or is not a regular file; delete it"
                )
            }
            // Another change may have ended meanwhile, and may have renamed the file that was
            // opened here.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, self.isSameFile(descriptor, new) { return file }
            usleep(self.lockPause)
        }
        throw ConfigurationError("\(what) \(path) is being changed by another command; try again")
    }

    /// Whether the descriptor belongs to a regular file with one name. With a second name, a hard
    /// link, a write would also change what others read under that name.
    private static func isOwnFile(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink <= 1
    }

    private static func isSameFile(_ descriptor: Int32, _ path: String) -> Bool {
        var (opened, named) = (stat(), stat())
        guard fstat(descriptor, &opened) == 0, stat(path, &named) == 0 else { return false }
        return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    /// Overwrites the old content, which may be a secret, before the file is cut to its new
    /// length.
    private static func overwrite(with content: String, _ file: FileHandle, path: String, what: String) throws {
        try self.write(content, to: file, path: path, what: what)
        guard ftruncate(file.fileDescriptor, off_t(content.utf8.count)) == 0, fsync(file.fileDescriptor) == 0 else {
            throw ConfigurationError("\(what) \(path) cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    /// Writes and syncs the file, so that it is on the disk before anything depends on it.
    private static func write(_ content: String, to file: FileHandle, path: String, what: String) throws {
        do {
            try file.write(contentsOf: Data(content.utf8))
            try file.synchronize()
        } catch {
            throw ConfigurationError("\(what) \(path) cannot be written: \(error.localizedDescription)")
        }
        try self.synchronize(folderOf: path, what: what)
    }
}

extension Data {
    /// The bytes without the mark of UTF-8 that some editors put before a text.
    package var withoutByteOrderMark: Data {
        self.starts(with: [0xEF, 0xBB, 0xBF]) ? self.dropFirst(3) : self
    }
}
