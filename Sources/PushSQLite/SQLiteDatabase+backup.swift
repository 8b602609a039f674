internal import Foundation
internal import Glibc
package import PushCore
package import PushStore
internal import SQLite

extension SQLiteDatabase {
    /// Writes a copy of the database as of one moment to a new file that only its owner may read.
    /// The server may run meanwhile. The copy is verified, and the file appears either complete or
    /// not at all.
    ///
    /// Writers do not wait for the copy. Meanwhile the log grows, and no erased data is wiped.
    /// `VACUUM INTO` reads in a single transaction. SQLite's backup API would start again at each
    /// commit of another process, and so might never end.
    ///
    /// The file ends with a keyed hash, which `restore` checks.
    ///
    /// `begins` is called at each step. Throws `StoreError` if the file exists, cannot be written
    /// or is damaged. Also throws if `copy` is interrupted.
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

    /// Reads the whole backup. Throws `StoreError` if it is damaged.
    func inspectBackup(_ copy: RunningCopy = RunningCopy()) throws(StoreError) -> StoreInspection {
        do throws(StoreError) {
            let inspection = try self.inspect(copy)
            if let line = inspection.damage.first { throw .failed(reason: "the backup is damaged: \(line)") }
            return inspection
        } catch .unusable(_, let reason) {
            // The file is not the configured database, so no configuration is at fault.
            throw .failed(reason: "the backup cannot be used: \(reason)")
        }
    }

    /// Writes a copy of the database as of one moment to a new file that only its owner may read,
    /// and syncs the file. Then calls `use`, which reads the file again. If `use` throws, removes
    /// the file.
    ///
    /// With a keyring, this database is a backup: it is copied unchanged, but without its hash,
    /// which must match. `remedy` ends the error about a disk without room for the copy.
    func copy(
        to partial: String,
        hashedWith keyring: Keyring? = nil,
        remedy: String = "choose another folder",
        _ copy: RunningCopy,
        _ begins: (CopyStep) -> Void,
        _ use: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let descriptor = try Self.openPartial(partial)
        defer { close(descriptor) }
        func begin(_ bytes: Int) throws {
            try SQLiteDatabase(path: partial).checkRoom(for: bytes, remedy: remedy)
            begins(.copying(bytes: bytes, file: partial))
        }
        do {
            if let keyring {
                try begin(FileManager.default.attributesOfItem(atPath: self.path)[.size] as? Int ?? 0)
                try BackupHash.copy(self.path, to: descriptor, keyring)
            } else {
                let connection = try Connection.readOnly(path: self.path)
                try begin(connection.read(Self.usedBytes))
                try copy.during(connection) {
                    try $0.exclusively { db in
                        // With this setting, the copy's file can be shortened later, even if an
                        // older version has made the database.
                        try FileSpace.choose(db)
                        try db.run("vacuum into \(partial)")
                    }
                }
                try connection.close()
            }
            // SQLite does not wait until the copy is on the disk, so the file is synced here.
            guard fsync(descriptor) == 0 else { throw StoreError.ofSystem(partial) }
            begins(.verifying(bytes: Int(lseek(descriptor, 0, SEEK_END)), copy))
            try use()
        } catch {
            unlink(partial)
            throw StoreError(opening: self.path, error)
        }
    }

    /// Creates the file with the mode 0600, and with a lock that ends with the process. If a copy
    /// was killed, truncates the file that it has left. Refuses the file of another user, who
    /// could read the backup.
    private static func openPartial(_ path: String) throws(StoreError) -> Int32 {
        // The file is created before SQLite would create it, since SQLite sets no mode of its own.
        let descriptor = try openStateFile(path)
        do throws(StoreError) {
            var opened = stat()
            guard fstat(descriptor, &opened) == 0, opened.st_uid == geteuid() else {
                throw .cannotOpen(place: path, reason: "it exists, and belongs to another user; remove it")
            }
            guard lockStateFile(descriptor, at: path) else {
                throw .cannotOpen(place: path, reason: "another copy is being written there")
            }
            guard fchmod(descriptor, 0o600) == 0, ftruncate(descriptor, 0) == 0 else { throw .ofSystem(path) }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Throws a `StoreError` with the needed and the free number of bytes if the disk does not
    /// have enough room. If a copy filled the disk of a database in use, the server would refuse
    /// posts.
    private func checkRoom(for bytes: Int, remedy: String) throws(StoreError) {
        guard let (free, folder) = try self.freeSpace(), free < UInt64(bytes) else { return }
        let (needed, left) = ((bytes + 1_048_575) / 1_048_576, free / 1_048_576)
        throw .cannotOpen(
            place: self.path,
            reason: "the copy needs \(needed) MiB, and \(folder) has \(left) MiB left; \(remedy)"
        )
    }

    /// The size of a copy in bytes: all pages except free pages.
    private static func usedBytes(_ db: Database) throws -> Int {
        let sql = """
            select (page_count - freelist_count) * page_size
            from pragma_page_count(), pragma_freelist_count(), pragma_page_size()
            """
        return Int(try db.number(SQL(sql: sql)) ?? 0)
    }

    /// Renames a file. Throws a `StoreError` with the reason.
    static func move(_ file: String, to path: String) throws(StoreError) {
        guard rename(file, path) == 0 else { throw .ofSystem(path) }
    }

    static func syncFolder(of path: String) throws(StoreError) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .ofSystem(folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .ofSystem(folder) }
    }
}

/// A step of a copy, with the number of bytes that it processes.
package enum CopyStep: Sendable {
    /// The copy is written; the file grows to approximately this number of bytes.
    case copying(bytes: Int, file: String)
    /// The whole copy is read again, first as pages and then as rows.
    case verifying(bytes: Int, RunningCopy)
}
