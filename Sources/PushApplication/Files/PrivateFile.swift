package import Foundation

/// A file that only its owner may read, for keys that the server creates.
enum PrivateFile {
    /// Whether no file has this path; `false` also if the function cannot find that out.
    package static func isMissing(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) != 0 && [ENOENT, ENOTDIR].contains(errno)
    }

    /// Whether the path leads to anything but a folder.
    static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFDIR
    }

    /// Throws `ConfigurationError` for a link to a missing file: no file can be made at its path.
    static func refuseDanglingLink(_ path: String, what: String) throws(ConfigurationError) {
        var status = stat()
        guard self.isMissing(path), lstat(path, &status) == 0 else { return }
        throw ConfigurationError("\(what) \(path) is a link to a missing file; restore that file, or remove the link")
    }

    /// Reads the file. If the file is missing, first creates it with mode 0600.
    ///
    /// `what` begins each error. Throws `ConfigurationError` if the file cannot be created or
    /// read, or if other users may read it. Throws `CommandFailure` if the disk is full.
    static func load(_ path: String, what: String, ifMissing make: () -> String) throws -> String {
        if self.isMissing(path) {
            try self.refuseDanglingLink(path, what: what)
            try NewFile(path, what: what, mode: 0o600, text: make()).appear()
        }
        return try self.load(path, what: what)
    }

    /// Reads the file. Throws `ConfigurationError` if it cannot be read, or if other users may
    /// read it.
    static func load(_ path: String, what: String) throws -> String {
        let (text, status) = try self.read(path, what: what)
        guard self.isPrivate(mode: status.st_mode, group: status.st_gid, ownGroups: self.ownGroups) else {
            throw ConfigurationError(
                "\(what) \(path) is readable by other users; set its mode to 0600, or 0640 for a group of the server's user"
            )
        }
        return text
    }

    /// Whether only the file's owner, and perhaps a group of this process, may read and change the
    /// file.
    ///
    /// A group is allowed because of Kubernetes. At each mount it gives a volume's files the group
    /// of the pod (`fsGroup`) and the mode 0440 or 0660.
    static func isPrivate(mode: mode_t, group: gid_t, ownGroups: Set<gid_t>) -> Bool {
        mode & 0o007 == 0 && (mode & 0o070 == 0 || ownGroups.contains(group))
    }

    private static var ownGroups: Set<gid_t> {
        var groups = [gid_t](repeating: 0, count: max(0, Int(getgroups(0, nil))))
        let count = getgroups(Int32(groups.count), &groups)
        return Set(groups.prefix(max(0, Int(count)))).union([getegid()])
    }

    /// Reads the file's text and status, and does not check which users may read the file. All
    /// files of keys, secrets and certificates are read here; libcurl reads `caFile` again.
    static func read(_ path: String, what: String, upTo limit: Int = 1 << 20) throws -> (text: String, status: stat) {
        let (data, status) = try self.bytes(of: path, as: "\(what) \(path)", upTo: limit)
        return (String(decoding: data, as: UTF8.self), status)
    }

    /// Reads the file and its status, without a byte order mark. `subject` begins each error.
    ///
    /// Does not wait at a named pipe without a writer. The path may lead through links, as in the
    /// volumes of Kubernetes. Throws `ConfigurationError` if the file cannot be read, is not a
    /// regular file, or is longer than `limit`.
    static func bytes(
        of path: String,
        as subject: String,
        upTo limit: Int = 1 << 20
    ) throws -> (bytes: Data, status: stat) {
        func fault(_ reason: String) -> ConfigurationError {
            ConfigurationError("\(subject) cannot be read: \(reason)")
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw fault(String(cString: strerror(errno))) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw fault(String(cString: strerror(errno))) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw fault("it is a folder; name a file")
        default: throw fault("it is a pipe or a device; name a regular file")
        }
        let data: Data
        do {
            data = try file.read(upToCount: limit + 1) ?? Data()
        } catch {
            throw fault(error.cause)
        }
        guard data.count <= limit else { throw fault("it is longer than \(limit >> 10) KiB") }
        return (data.withoutByteOrderMark, status)
    }

    /// Replaces the file's content atomically, even across a power failure. Sets mode 0600 and
    /// keeps the owner.
    ///
    /// The change opens the new file before it reads the old one, and locks the new file. While
    /// another change holds this lock, a second change waits for half a second and then throws. So
    /// no change overwrites another. A killed process may leave its new file, but no lock; the
    /// next change overwrites that file. Throws `ConfigurationError` if the change fails, or
    /// `CommandFailure` if the disk is full, and rethrows errors of `content`.
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
            var (status, made) = (stat(), stat())
            // The call filter of the unit for systemd refuses each change of an owner, even to the
            // present one.
            guard
                stat(path, &status) == 0, fstat(file.fileDescriptor, &made) == 0,
                (made.st_uid, made.st_gid) == (status.st_uid, status.st_gid)
                    || fchown(file.fileDescriptor, status.st_uid, status.st_gid) == 0,
                rename(new, path) == 0
            else {
                throw self.failure("\(what) \(path) cannot be changed", errno)
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
            throw self.failure("\(what) \(path) cannot be synced to disk", errno)
        }
    }

    /// The error for a file that cannot be created or changed, with the system's error number. A
    /// full disk is no fault of the configuration: a restart may help once the disk has room.
    static func failure(_ text: String, _ code: Int32) -> any Error {
        let description = "\(text): \(String(cString: strerror(code)))"
        return [ENOSPC, EDQUOT].contains(code) ? CommandFailure(description) : ConfigurationError(description)
    }

    /// The error for a file that Foundation could not create or change.
    static func failure(_ text: String, _ error: any Error) -> any Error {
        error.systemCode.map { self.failure(text, $0) } ?? ConfigurationError("\(text): \(error.cause)")
    }

    // MARK: - Private

    /// The number of attempts to get the lock that another change holds, and the microseconds
    /// between two attempts.
    private static let (lockAttempts, lockPause): (Int, UInt32) = (25, 20_000)

    /// Opens `new`, the file for the new content of `path`, with mode 0600 and a lock. The lock
    /// ends at the latest with the process.
    private static func openLocked(_ new: String, what: String, of path: String) throws -> FileHandle {
        for _ in 1...self.lockAttempts {
            let descriptor = open(new, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else {
                throw self.failure("\(what) \(new) cannot be created", errno)
            }
            let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            guard self.isOwnFile(descriptor) else {
                throw ConfigurationError(
                    "\(what) \(new) has a second name (hard link) or is not a regular file; delete it"
                )
            }
            // Another change may have ended since the file was opened, and may have renamed that
            // file to `path`.
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0, self.isSameFile(descriptor, new) { return file }
            usleep(self.lockPause)
        }
        throw ConfigurationError("\(what) \(path) is being changed by another command; try again")
    }

    /// Whether the descriptor belongs to a regular file with a single name. If a hard link gave
    /// the file a second name, a write would also change the file that others read under that
    /// name.
    private static func isOwnFile(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_nlink <= 1
    }

    private static func isSameFile(_ descriptor: Int32, _ path: String) -> Bool {
        var (opened, named) = (stat(), stat())
        guard fstat(descriptor, &opened) == 0, stat(path, &named) == 0 else { return false }
        return opened.st_dev == named.st_dev && opened.st_ino == named.st_ino
    }

    /// Overwrites the old content before it shortens the file, since the old content may be a
    /// secret.
    private static func overwrite(with content: String, _ file: FileHandle, path: String, what: String) throws {
        try self.write(content, to: file, path: path, what: what)
        guard ftruncate(file.fileDescriptor, off_t(content.utf8.count)) == 0, fsync(file.fileDescriptor) == 0 else {
            throw self.failure("\(what) \(path) cannot be written", errno)
        }
    }

    /// Writes and syncs the content, so that it is on the disk before anything depends on it.
    private static func write(_ content: String, to file: FileHandle, path: String, what: String) throws {
        do {
            try file.write(contentsOf: Data(content.utf8))
            try file.synchronize()
        } catch {
            throw self.failure("\(what) \(path) cannot be written", error)
        }
        try self.synchronize(folderOf: path, what: what)
    }
}

extension Error {
    /// The reason why a file cannot be used, such as "Is a directory": the text of the system's
    /// error, since the text of Foundation's error may be only a number.
    package var cause: String {
        self.systemCode.map { String(cString: strerror($0)) } ?? (self as NSError).localizedDescription
    }

    /// The number of the system's error; `nil` if the system has not caused the error.
    fileprivate var systemCode: Int32? {
        let system = ((self as NSError).userInfo[NSUnderlyingErrorKey] as? any Error).map { $0 as NSError }
        guard let system, system.domain == NSPOSIXErrorDomain else { return nil }
        return Int32(clamping: system.code)
    }
}

extension Data {
    /// The bytes without the byte order mark that some editors put before a text in UTF-8.
    package var withoutByteOrderMark: Data {
        self.starts(with: [0xEF, 0xBB, 0xBF]) ? self.dropFirst(3) : self
    }
}
