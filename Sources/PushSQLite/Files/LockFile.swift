internal import Foundation
internal import Glibc
internal import PushStore
internal import Synchronization

/// The exclusive right to write a database, which only one process can have.
///
/// The lock is on a separate file, `<database>.lock`. On the database's own file, it would not
/// work: closing any descriptor of that file drops the locks of SQLite. The lock ends with the
/// process, even if the process is killed. If a process has closed the database properly, the lock
/// file then contains a stamp of the database's state.
final class LockFile: Sendable {
    /// The stamp that means that a restore has not finished.
    static let restoring = "restoring"
    private static let longestStamp = 200

    private let descriptor: Mutex<Int32?>
    /// The stamp that the last process has left; `nil` if it has left none.
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
        // Before the first write to the database, the stamp is removed from the disk: after the
        // write it would be wrong.
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

    /// Writes a stamp for the next process. Without a stamp, the next process assumes that the
    /// database was not closed properly.
    func leave(_ stamp: String) {
        guard let descriptor = self.descriptor.withLock({ $0 }) else { return }
        let bytes = Array(stamp.utf8)
        _ = pwrite(descriptor, bytes, bytes.count, 0)
        fsync(descriptor)
    }

    /// Removes the stamp from the file.
    func clear() {
        guard let descriptor = self.descriptor.withLock({ $0 }) else { return }
        ftruncate(descriptor, 0)
        fsync(descriptor)
    }

    /// Releases the lock, so that this or another process can open the database. Further calls do
    /// nothing.
    func release() {
        guard let descriptor = self.descriptor.withLock({ $0.take() }) else { return }
        // Closing alone does not release the lock (flock(2)): a forked child that has not yet
        // called exec has the descriptor, too.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
