internal import Foundation
internal import GRDB
internal import Glibc

/// A copy of a database, as it is at one moment, made beside a server that runs.
package enum DatabaseBackup {
    /// Writes it to a new file for the owner only, which is there whole or not at all.
    ///
    /// Whoever writes meanwhile is not kept waiting; the log grows as long as it takes, and nothing is wiped. `VACUUM INTO`
    /// reads it in one transaction: SQLite's backup API begins anew with each commit of another process and so may never end.
    ///
    /// Throws `StoreError` if there is such a file, or it cannot be written.
    package static func write(_ database: String, to path: String) throws(StoreError) {
        let partial = path + ".partial"
        guard !FileManager.default.fileExists(atPath: path) else {
            throw .cannotOpen(path: path, reason: "the file already exists")
        }
        // Made before SQLite does, which asks for no mode of its own.
        let descriptor = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(path: partial, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        do {
            let connection = try DatabaseQueue.readOnly(path: database)
            try connection.writeWithoutTransaction { try $0.execute(sql: "vacuum into ?", arguments: [partial]) }
            try connection.close()
            // SQLite does not wait for the disk here.
            guard fsync(descriptor) == 0, rename(partial, path) == 0 else {
                throw StoreError.cannotOpen(path: path, reason: String(cString: strerror(errno)))
            }
            try Self.syncFolder(of: path)
        } catch {
            unlink(partial)
            throw StoreError(opening: database, error)
        }
    }

    private static func syncFolder(of path: String) throws(StoreError) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(path: folder, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .cannotOpen(path: folder, reason: String(cString: strerror(errno))) }
    }
}
