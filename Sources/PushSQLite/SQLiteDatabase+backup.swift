internal import Foundation
internal import GRDB
internal import Glibc
package import PushStore

extension SQLiteDatabase {
    /// Writes a copy as it is at one moment to a new file for the owner only, which is there whole or not at all; beside a
    /// server that runs.
    ///
    /// Writers are not kept waiting; the log grows as long as it takes, and nothing is wiped. `VACUUM INTO` reads in one
    /// transaction: SQLite's backup API begins anew with each commit of another process and so may never end.
    ///
    /// Throws `StoreError` if there is such a file, or it cannot be written.
    package func backUp(to path: String) throws(StoreError) {
        let partial = path + ".partial"
        guard !FileManager.default.fileExists(atPath: path) else {
            throw .cannotOpen(place: path, reason: "the file already exists")
        }
        // Made before SQLite does, which asks for no mode of its own.
        let descriptor = Glibc.open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotOpen(place: partial, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        do {
            let connection = try DatabaseQueue.readOnly(path: self.path)
            try connection.writeWithoutTransaction { try $0.execute(sql: "vacuum into ?", arguments: [partial]) }
            try connection.close()
            // SQLite does not wait for the disk here.
            guard fsync(descriptor) == 0, rename(partial, path) == 0 else {
                throw StoreError.cannotOpen(place: path, reason: String(cString: strerror(errno)))
            }
            try Self.syncFolder(of: path)
        } catch {
            unlink(partial)
            throw StoreError(opening: self.path, error)
        }
    }

    private static func syncFolder(of path: String) throws(StoreError) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        let descriptor = Glibc.open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .cannotOpen(place: folder, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .cannotOpen(place: folder, reason: String(cString: strerror(errno))) }
    }
}
