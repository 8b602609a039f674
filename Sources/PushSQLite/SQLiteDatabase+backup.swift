internal import Foundation
internal import GRDB
internal import Glibc
package import PushStore

extension SQLiteDatabase {
    /// Writes a copy of one moment to a new file for the owner only, also while the server runs. The copy is verified, and the
    /// file is there whole or not at all.
    ///
    /// Writers do not wait; the log grows for as long as it takes, and nothing is wiped. `VACUUM INTO` reads in one
    /// transaction: SQLite's backup API begins anew with each commit of another process and so may never end.
    ///
    /// `begins` is told each step. Throws `StoreError` if the file exists, cannot be written, or is damaged, or once `interruption` is
    /// set.
    package func backUp(
        to path: String,
        interruption: CopyInterruption = CopyInterruption(),
        begins: (CopyStep) -> Void = { _ in }
    ) throws(StoreError) {
        let partial = path + ".partial"
        guard !FileManager.default.fileExists(atPath: path) else {
            throw .cannotOpen(place: path, reason: "the file already exists")
        }
        try self.copy(to: partial, interruption, begins) { () throws(StoreError) in
            _ = try SQLiteDatabase(path: partial).inspectBackup(interruption)
            try Self.move(partial, to: path)
        }
        try Self.syncFolder(of: path)
    }

    /// Reads all of a backup. Throws `StoreError` if it is damaged.
    func inspectBackup(
        _ interruption: CopyInterruption = CopyInterruption()
    ) throws(StoreError) -> StoreInspection {
        let inspection = try self.inspect(interruption)
        if let line = inspection.damage.first { throw .failed(reason: "the backup is damaged: \(line)") }
        return inspection
    }

    /// Writes a copy as it is at one moment to a new file for the owner only, synced; removes it if `use`, which reads it again,
    /// throws.
    func copy(
        to partial: String,
        _ interruption: CopyInterruption,
        _ begins: (CopyStep) -> Void,
        _ use: () throws(StoreError) -> Void
    ) throws(StoreError) {
        // Made before SQLite does, which asks for no mode of its own.
        let descriptor = Glibc.open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(place: partial, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        do {
            let connection = try DatabaseQueue.readOnly(path: self.path)
            begins(.copying(bytes: try connection.read(Self.usedBytes), file: partial))
            try interruption.during(connection) {
                try $0.writeWithoutTransaction { db in
                    // A copy of a database of an older version can shrink, too.
                    try FileSpace.choose(db)
                    try db.execute(sql: "vacuum into ?", arguments: [partial])
                }
            }
            try connection.close()
            // SQLite does not wait for the disk here.
            guard fsync(descriptor) == 0 else {
                throw StoreError.cannotOpen(place: partial, reason: String(cString: strerror(errno)))
            }
            begins(.verifying(bytes: Int(lseek(descriptor, 0, SEEK_END))))
            try use()
        } catch {
            unlink(partial)
            throw StoreError(opening: self.path, error)
        }
    }

    /// What a copy will have: all pages but those that are free.
    private static func usedBytes(_ db: Database) throws -> Int {
        let sql = """
            select (page_count - freelist_count) * page_size
            from pragma_page_count(), pragma_freelist_count(), pragma_page_size()
            """
        return try Int.fetchOne(db, sql: sql) ?? 0
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

/// A step of a copy, with the bytes that it is about.
package enum CopyStep: Sendable, Hashable {
    /// The file grows to about so many bytes.
    case copying(bytes: Int, file: String)
    /// All of the copy is read again.
    case verifying(bytes: Int)
}
