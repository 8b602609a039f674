internal import Foundation
internal import Glibc
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteDatabase {
    /// Writes a copy of the database as of one moment to a new file that only its owner may read,
    /// also while the server runs. The copy is verified, and the file appears whole or not at all.
    ///
    /// Writers do not wait; meanwhile the log grows, and nothing is wiped. `VACUUM INTO` reads in
    /// one transaction: SQLite's backup API starts again with each commit of another process and
    /// so may never end.
    ///
    /// The file ends with a keyed hash, by which `restore` recognizes it.
    ///
    /// `begins` receives each step. Throws `StoreError` if the file exists, cannot be written, or
    /// is damaged, or once `copy` is interrupted.
    package func backUp(
        to path: String,
        keyring: Keyring,
        as copy: RunningCopy = RunningCopy(),
        begins: (CopyStep) -> Void = { _ in }
    ) throws(StoreError) {
        let partial = path + ".partial"
        guard !FileManager.default.fileExists(atPath: path) else {
            throw .cannotOpen(place: path, reason: "the file already exists")
        }
        try self.copy(to: partial, copy, begins) { () throws(StoreError) in
            _ = try SQLiteDatabase(path: partial).inspectBackup(copy)
            try BackupHash.add(toFile: partial, keyring)
            try Self.move(partial, to: path)
        }
        try Self.syncFolder(of: path)
    }

    /// Reads all of a backup. Throws `StoreError` if it is damaged.
    func inspectBackup(
        _ copy: RunningCopy = RunningCopy()
    ) throws(StoreError) -> StoreInspection {
        let inspection = try self.inspect(copy)
        if let line = inspection.damage.first { throw .failed(reason: "the backup is damaged: \(line)") }
        return inspection
    }

    /// Writes a copy of the database as of one moment to a new file that only its owner may read,
    /// and syncs it. Removes the file if `use`, which reads it again, throws.
    func copy(
        to partial: String,
        _ copy: RunningCopy,
        _ begins: (CopyStep) -> Void,
        _ use: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try self.fill(partial, copy, begins, use) { _ in
            let connection = try Connection.readOnly(path: self.path)
            let bytes = try connection.read(Self.usedBytes)
            try SQLiteDatabase(path: partial).checkRoom(for: bytes)
            begins(.copying(bytes: bytes, file: partial))
            try copy.during(connection) {
                try $0.exclusively { db in
                    // This lets the copy's file shrink later, also if an older version made the
                    // database.
                    try FileSpace.choose(db)
                    try db.run("vacuum into \(partial)")
                }
            }
            try connection.close()
        }
    }

    /// Copies a backup unchanged, without its hash, which must match; otherwise works as `copy`
    /// does.
    func copyBackup(
        to partial: String,
        _ keyring: Keyring,
        _ copy: RunningCopy,
        _ begins: (CopyStep) -> Void,
        _ use: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try self.fill(partial, copy, begins, use) { descriptor in
            let bytes = try FileManager.default.attributesOfItem(atPath: self.path)[.size] as? Int ?? 0
            try SQLiteDatabase(path: partial).checkRoom(for: bytes)
            begins(.copying(bytes: bytes, file: partial))
            try BackupHash.copy(self.path, to: descriptor, keyring)
        }
    }

    private func fill(
        _ partial: String,
        _ copy: RunningCopy,
        _ begins: (CopyStep) -> Void,
        _ use: () throws(StoreError) -> Void,
        _ write: (Int32) throws -> Void
    ) throws(StoreError) {
        let descriptor = try Self.openPartial(partial)
        defer { close(descriptor) }
        do {
            try write(descriptor)
            // SQLite does not wait until the copy is on the disk.
            guard fsync(descriptor) == 0 else {
                throw StoreError.cannotOpen(place: partial, reason: String(cString: strerror(errno)))
            }
            begins(.verifying(bytes: Int(lseek(descriptor, 0, SEEK_END)), copy))
            try use()
        } catch {
            unlink(partial)
            throw StoreError(opening: self.path, error)
        }
    }

    /// Creates the file with the mode 0600, under a lock that ends with the process. Truncates a
    /// file left behind by a copy that was killed. Refuses a file owned by another user, who could
    /// read the backup.
    private static func openPartial(_ path: String) throws(StoreError) -> Int32 {
        // This comes before SQLite creates the file, since SQLite sets no mode of its own.
        let descriptor = try openStateFile(path)
        do throws(StoreError) {
            var (opened, named) = (stat(), stat())
            guard fstat(descriptor, &opened) == 0, opened.st_uid == geteuid() else {
                throw .cannotOpen(place: path, reason: "it exists, and belongs to another user; remove it")
            }
            // The copy that held the lock may have ended meanwhile, and have renamed the file.
            guard
                flock(descriptor, LOCK_EX | LOCK_NB) == 0, stat(path, &named) == 0, named.st_dev == opened.st_dev,
                named.st_ino == opened.st_ino
            else { throw .cannotOpen(place: path, reason: "another copy is being written there") }
            guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else {
                throw .cannotOpen(place: path, reason: String(cString: strerror(errno)))
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Throws `StoreError` with the needed and the free bytes if the disk lacks room. A copy that
    /// fills the disk of a database in use would make the server refuse posts.
    private func checkRoom(for bytes: Int) throws(StoreError) {
        guard let (free, folder) = try self.freeSpace(), free < UInt64(bytes) else { return }
        let (needed, left) = ((bytes + 1_048_575) / 1_048_576, free / 1_048_576)
        throw .cannotOpen(
            place: self.path,
            reason: "the copy needs \(needed) MiB, and \(folder) has \(left) MiB left; choose another folder"
        )
    }

    /// The size of a copy: all pages except free ones.
    private static func usedBytes(_ db: Database) throws -> Int {
        let sql = """
            select (page_count - freelist_count) * page_size
            from pragma_page_count(), pragma_freelist_count(), pragma_page_size()
            """
        return try db.first(prepared: sql) { Int($0.integer(0)) } ?? 0
    }

    /// Renames a file. Throws `StoreError` with the reason.
    static func move(_ file: String, to path: String) throws(StoreError) {
        guard rename(file, path) == 0 else {
            throw .cannotOpen(place: path, reason: String(cString: strerror(errno)))
        }
    }

    static func syncFolder(of path: String) throws(StoreError) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(place: folder, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .cannotOpen(place: folder, reason: String(cString: strerror(errno))) }
    }
}

/// A step of a copy, with the number of bytes that it processes.
package enum CopyStep: Sendable {
    /// The file grows to about this many bytes.
    case copying(bytes: Int, file: String)
    /// All of the copy is read again, as pages and then as rows.
    case verifying(bytes: Int, RunningCopy)
}
