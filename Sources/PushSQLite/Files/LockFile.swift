internal import Foundation
internal import Glibc
internal import PushStore
internal import Synchronization

/// The right to write a database, held by at most one process.
///
/// The lock is on a file of its own, `<database>.lock`: closing any descriptor of the database
/// itself would drop the locks of SQLite. The lock ends with the process, however that ends. While
/// no process holds it, the file has a stamp of the database's state, if the database was closed
/// in order.
final class LockFile: Sendable {
    /// The stamp of a restore that has not finished.
    static let restoring = "restoring"
    private static let longestStamp = 200

    private let descriptor: Mutex<Int32?>
    /// The stamp of the last process; `nil` if it left none.
    let lastStamp: String?

    init(forDatabase path: String) throws(StoreError) {
        let lock = path + ".lock"
        let descriptor = try openStateFile(lock)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw .inUse(place: path)
        }
        var bytes = [UInt8](repeating: 0, count: Self.longestStamp)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        self.lastStamp = count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
        // The stamp is removed from the disk before the first write to the database, after which
        // it would be wrong.
        guard ftruncate(descriptor, 0) == 0, fsync(descriptor) == 0 else {
            let reason = String(cString: strerror(errno))
            close(descriptor)
            throw .cannotOpen(place: lock, reason: reason)
        }
        self.descriptor = Mutex(descriptor)
    }

    deinit {
        self.release()
    }

    /// Leaves a stamp for the next process. Without one, that process assumes that the database
    /// was not closed.
    func leave(_ stamp: String) {
        guard let descriptor = self.descriptor.withLock({ $0 }) else { return }
        let bytes = Array(stamp.utf8)
        _ = pwrite(descriptor, bytes, bytes.count, 0)
        fsync(descriptor)
    }

    /// Removes the stamp.
    func clear() {
        guard let descriptor = self.descriptor.withLock({ $0 }) else { return }
        ftruncate(descriptor, 0)
        fsync(descriptor)
    }

    /// Releases the lock, so that another process, or this one, can open the database. Further
    /// calls do nothing.
    func release() {
        guard let descriptor = self.descriptor.withLock({ $0.take() }) else { return }
        // Closing is not enough: a forked child that has not called exec yet has the descriptor
        // too, flock(2).
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
