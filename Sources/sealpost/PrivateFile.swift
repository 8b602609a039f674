import Foundation

/// A file that only its owner may read, for keys that the server creates.
enum PrivateFile {
    /// Reads the file; creates it first, with mode 0600, if it is missing.
    ///
    /// `what` begins each error. Throws `ConfigurationError` if the file cannot be created or read, or if others may
    /// read it.
    static func load(_ path: String, what: String, ifMissing make: () -> String) throws -> String {
        if !FileManager.default.fileExists(atPath: path) {
            try NewFile(path, what: what, mode: 0o600, text: make()).appear()
        }
        return try self.load(path, what: what)
    }

    /// Reads the file. Throws `ConfigurationError` if it cannot be read, or if others may read it.
    static func load(_ path: String, what: String) throws -> String {
        do {
            let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? 0
            guard mode & 0o077 == 0 else {
                throw ConfigurationError("\(what) \(path) is readable by other users; set its mode to 0600")
            }
            return try String(contentsOfFile: path, encoding: .utf8)
        } catch let error as ConfigurationError {
            throw error
        } catch {
            throw ConfigurationError("\(what) \(path) cannot be read: \(error.localizedDescription)")
        }
    }

    /// Replaces the file's content atomically, also across a power failure; sets mode 0600 and keeps the owner.
    ///
    /// The new file is created before the old one is read, and is the lock: of two concurrent changes the second
    /// throws, so that neither is lost. Throws `ConfigurationError` if the change fails, and rethrows errors of
    /// `content`.
    static func change<Value>(
        _ path: String,
        what: String,
        _ content: (String) throws -> (String, Value)
    ) throws -> Value {
        let new = path + ".new"
        let taken = "\(what) \(path) is being changed by another command; if there is none, remove \(new)"
        let file = try self.create(new, what: what, taken: taken)
        let value: Value
        do {
            let (text, result) = try content(self.load(path, what: what))
            value = result
            try self.write(text, to: file, path: new, what: what)
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

    /// Creates the file with mode 0600. Throws if that fails, with the text `taken` if the file exists.
    private static func create(_ path: String, what: String, taken: String) throws -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if errno == EEXIST { throw ConfigurationError(taken) }
            throw ConfigurationError("\(what) \(path) cannot be created: \(String(cString: strerror(errno)))")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
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
